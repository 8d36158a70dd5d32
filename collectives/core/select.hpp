/// Which form each collective takes. All of the choice is in the tables of select.cpp; one variable
/// overrides it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "wire/base/result.hpp"

namespace impishim::collectives {

/// Operations that have a choice, or tell which form IMPI prescribes. Reduce_scatter_block, exscan
/// and alltoallw go with reduce_scatter, scan and alltoallv.
enum class Collective : std::uint8_t {
  kBarrier,
  kBcast,
  kGather,
  kGatherv,
  kScatter,
  kScatterv,
  kAllgather,
  kAllgatherv,
  kAlltoall,
  kAlltoallv,
  kReduce,
  kAllreduce,
  kReduceScatter,
  kScan,
};
inline constexpr std::size_t kCollectiveCount = 14;

enum class Form : std::uint8_t {
  kLinear,     ///< every master talks to the root
  kTree,       ///< hypercube or binomial tree of masters
  kRooted,     ///< to one process, and from there to all
  kChain,      ///< from rank to rank
  kDirect,     ///< every member talks to every one of other clients
  kExchange,   ///< every master talks to every other at once: one one-way delay
  kDoubling,   ///< in each round every master reaches twice as many: the logarithm of their number
  kScattered,  ///< every master does the work for its part of the data, then passes the part on to
               ///< all others
  kSliced,  ///< the data is cut between the members of each client, and all of them talk to their
            ///< counterparts at once
};

/// What a form can depend on besides numbers of clients and bytes: bits.
enum Property : std::uint8_t {
  kNothing = 0,
  kAlike =
      1,  ///< all clients represent data alike and combine it alike (Limits::same_representation)
  kInOrder = 2,  ///< one result of each client is enough: the operation commutes, or each client's
                 ///< ranks are consecutive
  kSlices = 4,   ///< the operation commutes, and every client has more than one member
};

/// What the variable IMPISHIM_COLLECTIVES sets; the same on all systems.
struct Overrides {
  std::array<std::optional<Form>, kCollectiveCount> forms;  ///< by Collective
  std::uint64_t segment = 65536;  ///< bytes in one message of longer data: what travels in one
                                  ///< packet, without rendezvous
  std::uint64_t long_from =
      262144;  ///< bytes from which own forms care for bandwidth more than for delays
  bool operator==(const Overrides&) const = default;
};

/// Reads `name=value` items between commas, e.g. `bcast=linear,allreduce=exchange,segment=65536`;
/// nothing is all defaults. Errors (kConfiguration) name the bad word and what is allowed.
[[nodiscard]] Result<Overrides> parse_overrides(std::string_view text);
/// Returns a number that is equal for equal choices, on every machine; different ones differ but
/// for chance. `as_lam`: IMPISHIM_FOREIGN=lam.
[[nodiscard]] std::uint64_t fingerprint(const Overrides& overrides, bool as_lam = false);

/// Agreed on by all systems at startup.
struct Limits {
  std::int32_t max_linear = 4;  ///< C_COLL_MAXLINEAR: masters that are few
  std::int64_t xsize = 1024;    ///< C_COLL_XSIZE: bytes from which IMPI's long forms are taken
  bool impi_only = false;       ///< a foreign implementation takes part: only the forms of IMPI 0.0
  bool as_lam = false;  ///< it does, and IMPISHIM_FOREIGN=lam: forms, context and representation as
                        ///< LAM/MPI has them
  /// All clients of the communicator represent data alike and combine it alike: masters may pass on
  /// bytes whose type they do not know, and several may compute the same result themselves.
  bool same_representation = true;
  /// Members may give a Bcast different lengths by mistake, which each is to learn instead of
  /// waiting for ever. Costs no message.
  bool lengths_may_differ = false;
  Overrides overrides;
};

/// `clients`: of the communicator. `bytes`: what the operation's row in select.cpp says, in
/// external32, the same everywhere. `has`: properties of this call besides kAlike.
[[nodiscard]] Form choose(Collective collective, std::int32_t clients, std::uint64_t bytes,
                          const Limits& limits, std::uint8_t has = kInOrder);

/// Elements of `element_bytes` on their way in one message of longer data: at least one; all of
/// them in the forms of IMPI 0.0.
[[nodiscard]] std::uint64_t segment_elements(std::uint64_t count, std::uint64_t element_bytes,
                                             const Limits& limits);

/// Tags on the collective context.
enum Tag : std::int32_t {
  // IMPI 4.2
  kBarrierTag = 110,
  kBcastTag = 120,
  kGatherTag = 130,
  kGathervTag = 140,
  kScatterTag = 150,
  kScattervTag = 160,
  kAlltoallTag = 170,
  kAlltoallvTag = 180,
  kReduceTag = 190,
  kScanTag = 200,
  // of forms that IMPI does not have
  kBarrierExchangeTag = 310,
  kReduceSegmentTag = 320,
  kAllreduceTag = 330,
  kAllreduceFoldTag = 331,
  kAllreducePartTag = 332,
  kAllreduceResultTag = 333,
  kReduceScatterTag = 340,
  kScanTotalTag = 350,
  kInterReduceTag = 360,
  kInterAllreduceTag = 361,
  kInterReduceScatterTag = 362,
  kBcastSegmentTag = 370,
  kTogetherTag = 380,  ///< blocks of several members, between masters or a master and a root
  kStraightTag = 381,  ///< a block straight from the one who has it to one who needs it
  kEdgeTag = 1000,     ///< plus the edge's label
};

}  // namespace impishim::collectives
