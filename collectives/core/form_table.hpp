/// The table of the choice between forms of collectives: all of it, for select.cpp.
#pragma once

#include <array>

#include "collectives/core/select.hpp"

namespace impishim::collectives {

/// What IMPI 0.0 prescribes (IMPI 5.2), taken whenever a foreign implementation takes part, for: at
/// most C_COLL_MAXLINEAR clients; more and data below C_COLL_XSIZE bytes; more and data from there
/// on.
struct ImpiChoice {
  Form few;
  Form many_short;
  Form many_long;
};

/// By Collective. Bytes are those of one process's data: of one block for gather and scatter, of
/// all for reductions.
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

enum class Clients : std::uint8_t {
  kTwo,
  kFew,
  kAny
};  ///< few: as many as C_COLL_MAXLINEAR says, two at least
/// Tiny: below C_COLL_XSIZE. A message: at least Overrides::segment, so that it fills one by
/// itself. Long: from Overrides::long_from on; short: below.
enum class Length : std::uint8_t { kTiny, kMessage, kShort, kLong, kAny };

/// A form that is taken between systems of this library if everything in its row is so.
struct OwnChoice {
  Collective collective;
  Form form;
  Clients clients;
  Length data;
  std::uint8_t needs;  ///< properties without which the form is never taken
};

/// The first row that applies is taken; without one, IMPI's choice above.
inline constexpr std::array kOwnChoices{
    // One one-way delay; with many clients, messages by the square of their number would cost more
    // than further delays.
    OwnChoice{Collective::kBarrier, Form::kExchange, Clients::kFew, Length::kAny, kNothing},
    OwnChoice{Collective::kBarrier, Form::kDoubling, Clients::kAny, Length::kAny, kNothing},

    // One one-way delay, but then the root sends long data once for each other client; in a tree
    // others share that work.
    OwnChoice{Collective::kBcast, Form::kLinear, Clients::kFew, Length::kAny, kNothing},
    OwnChoice{Collective::kBcast, Form::kTree, Clients::kAny, Length::kLong, kNothing},
    OwnChoice{Collective::kBcast, Form::kLinear, Clients::kAny, Length::kAny, kNothing},

    // Of single blocks: one that fills a message travels by itself, and no master has to copy it.
    OwnChoice{Collective::kGather, Form::kDirect, Clients::kAny, Length::kMessage, kNothing},
    OwnChoice{Collective::kGather, Form::kLinear, Clients::kAny, Length::kAny, kNothing},
    OwnChoice{Collective::kGatherv, Form::kDirect, Clients::kAny, Length::kMessage, kNothing},
    OwnChoice{Collective::kGatherv, Form::kLinear, Clients::kAny, Length::kAny, kNothing},
    OwnChoice{Collective::kScatter, Form::kDirect, Clients::kAny, Length::kMessage, kNothing},
    OwnChoice{Collective::kScatter, Form::kLinear, Clients::kAny, Length::kAny, kNothing},
    OwnChoice{Collective::kScatterv, Form::kDirect, Clients::kAny, Length::kMessage, kNothing},
    OwnChoice{Collective::kScatterv, Form::kLinear, Clients::kAny, Length::kAny, kNothing},

    // Of all blocks together: masters swap what their clients have, at once; long data is sent and
    // received by all members.
    OwnChoice{Collective::kAllgather, Form::kDirect, Clients::kAny, Length::kLong, kNothing},
    OwnChoice{Collective::kAllgather, Form::kExchange, Clients::kAny, Length::kAny, kNothing},
    OwnChoice{Collective::kAllgatherv, Form::kDirect, Clients::kAny, Length::kLong, kNothing},
    OwnChoice{Collective::kAllgatherv, Form::kExchange, Clients::kAny, Length::kAny, kNothing},

    // Of one block: as many messages as pairs of clients instead of pairs of processes. Of blocks
    // of any size each is known to
    // two processes only.
    OwnChoice{Collective::kAlltoall, Form::kExchange, Clients::kAny, Length::kTiny, kNothing},
    OwnChoice{Collective::kAlltoall, Form::kDirect, Clients::kAny, Length::kAny, kNothing},

    // Long: members of all clients reduce, send and combine a slice each. Out of order every run of
    // ranks goes to the root.
    OwnChoice{Collective::kReduce, Form::kSliced, Clients::kAny, Length::kLong, kSlices},
    OwnChoice{Collective::kReduce, Form::kLinear, Clients::kFew, Length::kAny, kNothing},
    OwnChoice{Collective::kReduce, Form::kTree, Clients::kAny, Length::kAny, kNothing},

    // With two clients an exchange moves no more bytes than anything else; with more it moves
    // (clients - 1) times the data out
    // of each, where kScattered moves less than twice the data. Slices choose their own form among
    // the others.
    OwnChoice{Collective::kAllreduce, Form::kSliced, Clients::kAny, Length::kLong, kSlices},
    OwnChoice{Collective::kAllreduce, Form::kExchange, Clients::kTwo, Length::kAny, kAlike},
    OwnChoice{Collective::kAllreduce, Form::kExchange, Clients::kFew, Length::kShort, kAlike},
    OwnChoice{Collective::kAllreduce, Form::kDoubling, Clients::kAny, Length::kShort,
              kAlike | kInOrder},
    OwnChoice{Collective::kAllreduce, Form::kScattered, Clients::kAny, Length::kLong, kInOrder},
    OwnChoice{Collective::kAllreduce, Form::kRooted, Clients::kAny, Length::kAny, kNothing},

    // Nothing crosses that its receiver does not need, in one one-way delay, for any number of
    // clients.
    OwnChoice{Collective::kReduceScatter, Form::kExchange, Clients::kAny, Length::kAny, kNothing},

    // Totals of earlier ranks cross once to each later client; with many clients each round doubles
    // what is known.
    OwnChoice{Collective::kScan, Form::kExchange, Clients::kFew, Length::kAny, kNothing},
    OwnChoice{Collective::kScan, Form::kDoubling, Clients::kAny, Length::kAny, kInOrder},
    OwnChoice{Collective::kScan, Form::kExchange, Clients::kAny, Length::kAny, kNothing},
};

/// Whether `collective` has `form` at all, and whether it is one of IMPI 0.0.
[[nodiscard]] bool has_form(Collective collective, Form form);
[[nodiscard]] bool is_impi_form(Collective collective, Form form);

}  // namespace impishim::collectives
