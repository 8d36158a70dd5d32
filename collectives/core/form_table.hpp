// SPDX-License-Identifier: Apache-2.0
/// The complete table from which select.cpp chooses the form of a collective.
#pragma once

#include <array>

#include "collectives/core/select.hpp"

namespace impishim::collectives {

/// The forms that IMPI 0.0 prescribes (IMPI 5.2). They are used whenever a foreign implementation
/// takes part. The three cases are: at most C_COLL_MAXLINEAR clients; more clients and data below
/// C_COLL_XSIZE bytes; more clients and longer data.
struct ImpiChoice {
  Form few;
  Form many_short;
  Form many_long;
};

/// Indexed by Collective. Bytes are those of one process's data: of one block for gather and
/// scatter, of all data for reductions.
inline constexpr std::array<ImpiChoice, kCollectiveCount> kImpiChoices{{
    {Form::kLinear, Form::kTree, Form::kTree},      // barrier
    {Form::kLinear, Form::kTree, Form::kTree},      // bcast
    {Form::kLinear, Form::kTree, Form::kLinear},    // gather: no long data is sent twice
    {Form::kLinear, Form::kLinear, Form::kLinear},  // gatherv
    {Form::kLinear, Form::kTree, Form::kLinear},    // scatter
    {Form::kLinear, Form::kLinear, Form::kLinear},  // scatterv
    {Form::kRooted, Form::kRooted, Form::kRooted},  // allgather
    {Form::kRooted, Form::kRooted, Form::kRooted},  // allgatherv
    {Form::kDirect, Form::kDirect, Form::kDirect},  // alltoall
    {Form::kDirect, Form::kDirect, Form::kDirect},  // alltoallv
    {Form::kLinear, Form::kTree, Form::kTree},      // reduce
    {Form::kRooted, Form::kRooted, Form::kRooted},  // allreduce
    {Form::kRooted, Form::kRooted, Form::kRooted},  // reduce_scatter
    {Form::kChain, Form::kChain, Form::kChain},     // scan
}};

/// Classes of the number of clients.
enum class Clients : std::uint8_t {
  kTwo,
  kFew,
  kAny
};  ///< kFew: at most C_COLL_MAXLINEAR, and never less than two
/// Classes of data length. kTiny: below C_COLL_XSIZE. kMessage: at least Overrides::segment, so
/// that the data fills a message of its own. kLong: at least Overrides::long_from. kShort: below
/// Overrides::long_from.
enum class Length : std::uint8_t { kTiny, kMessage, kShort, kLong, kAny };

/// A form that is chosen between systems of this library if all conditions in its row hold.
struct OwnChoice {
  Collective collective;
  Form form;
  Clients clients;
  Length data;
  std::uint8_t needs;  ///< properties that the form requires
};

/// The first row whose conditions hold is chosen. If none does, IMPI's choice above is used.
inline constexpr std::array kOwnChoices{
    // One one-way delay. The number of messages grows with the square of the clients, but a message
    // costs a master a microsecond, and a further delay between clusters more than all of them
    // (tests/scale/collectives).
    OwnChoice{Collective::kBarrier, Form::kExchange, Clients::kAny, Length::kAny, kNothing},
    OwnChoice{Collective::kBarrier, Form::kDoubling, Clients::kAny, Length::kAny, kNothing},

    // One one-way delay, but the root sends long data once for each other client; in a tree other
    // clients share that work.
    OwnChoice{Collective::kBcast, Form::kLinear, Clients::kFew, Length::kAny, kNothing},
    OwnChoice{Collective::kBcast, Form::kTree, Clients::kAny, Length::kLong, kNothing},
    OwnChoice{Collective::kBcast, Form::kLinear, Clients::kAny, Length::kAny, kNothing},

    // Single blocks: a block that fills a message travels alone, so no master has to copy it.
    OwnChoice{Collective::kGather, Form::kDirect, Clients::kAny, Length::kMessage, kNothing},
    OwnChoice{Collective::kGather, Form::kLinear, Clients::kAny, Length::kAny, kNothing},
    OwnChoice{Collective::kGatherv, Form::kDirect, Clients::kAny, Length::kMessage, kNothing},
    OwnChoice{Collective::kGatherv, Form::kLinear, Clients::kAny, Length::kAny, kNothing},
    OwnChoice{Collective::kScatter, Form::kDirect, Clients::kAny, Length::kMessage, kNothing},
    OwnChoice{Collective::kScatter, Form::kLinear, Clients::kAny, Length::kAny, kNothing},
    OwnChoice{Collective::kScatterv, Form::kDirect, Clients::kAny, Length::kMessage, kNothing},
    OwnChoice{Collective::kScatterv, Form::kLinear, Clients::kAny, Length::kAny, kNothing},

    // All blocks together: masters exchange their clients' blocks at the same time; for long data
    // all members send and receive.
    OwnChoice{Collective::kAllgather, Form::kDirect, Clients::kAny, Length::kLong, kNothing},
    OwnChoice{Collective::kAllgather, Form::kExchange, Clients::kAny, Length::kAny, kNothing},
    OwnChoice{Collective::kAllgatherv, Form::kDirect, Clients::kAny, Length::kLong, kNothing},
    OwnChoice{Collective::kAllgatherv, Form::kExchange, Clients::kAny, Length::kAny, kNothing},

    // Size of one block: kExchange needs a message for each pair of clients instead of each pair of
    // processes. Blocks of different sizes (alltoallv) always go direct, because only two processes
    // know each size.
    OwnChoice{Collective::kAlltoall, Form::kExchange, Clients::kAny, Length::kTiny, kNothing},
    OwnChoice{Collective::kAlltoall, Form::kDirect, Clients::kAny, Length::kAny, kNothing},

    // Long data: members of all clients each reduce, send and combine a slice. Out of order, every
    // range of ranks goes to the root.
    OwnChoice{Collective::kReduce, Form::kSliced, Clients::kAny, Length::kLong, kSlices},
    OwnChoice{Collective::kReduce, Form::kLinear, Clients::kFew, Length::kAny, kNothing},
    OwnChoice{Collective::kReduce, Form::kLinear, Clients::kAny, Length::kTiny, kNothing},
    OwnChoice{Collective::kReduce, Form::kTree, Clients::kAny, Length::kAny, kNothing},

    // With two clients an exchange moves no more bytes than any other form. With more, it sends
    // (clients - 1) times the data from each client, where kScattered sends less than twice the
    // data. Slices choose their own form among the others.
    OwnChoice{Collective::kAllreduce, Form::kSliced, Clients::kAny, Length::kLong, kSlices},
    OwnChoice{Collective::kAllreduce, Form::kExchange, Clients::kTwo, Length::kAny, kAlike},
    OwnChoice{Collective::kAllreduce, Form::kExchange, Clients::kFew, Length::kShort, kAlike},
    OwnChoice{Collective::kAllreduce, Form::kExchange, Clients::kAny, Length::kTiny, kAlike},
    OwnChoice{Collective::kAllreduce, Form::kDoubling, Clients::kAny, Length::kShort,
              kAlike | kInOrder},
    OwnChoice{Collective::kAllreduce, Form::kScattered, Clients::kAny, Length::kLong, kInOrder},
    OwnChoice{Collective::kAllreduce, Form::kRooted, Clients::kAny, Length::kAny, kNothing},

    // Only data that its receiver needs crosses, in one one-way delay, for any number of clients.
    OwnChoice{Collective::kReduceScatter, Form::kExchange, Clients::kAny, Length::kAny, kNothing},

    // The pipeline moves and combines least, and with two clients its segments cross once, as in
    // an exchange.
    OwnChoice{Collective::kScan, Form::kPipeline, Clients::kTwo, Length::kLong,
              kInOrder | kManySegments},
    // Totals of earlier ranks cross once to each later client. With many clients each round doubles
    // the number of known totals.
    OwnChoice{Collective::kScan, Form::kExchange, Clients::kFew, Length::kAny, kNothing},
    OwnChoice{Collective::kScan, Form::kExchange, Clients::kAny, Length::kTiny, kNothing},
    OwnChoice{Collective::kScan, Form::kDoubling, Clients::kAny, Length::kAny, kInOrder},
    OwnChoice{Collective::kScan, Form::kExchange, Clients::kAny, Length::kAny, kNothing},
};

/// Return true if `collective` has `form` at all, and if the form is one of IMPI 0.0.
[[nodiscard]] bool has_form(Collective collective, Form form);
[[nodiscard]] bool is_impi_form(Collective collective, Form form);

}  // namespace impishim::collectives
