// SPDX-License-Identifier: Apache-2.0
/// The choice of the form that each collective uses. The tables of form_table.hpp hold the whole
/// choice; one variable overrides it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/base/result.hpp"

namespace impishim::collectives {

/// Operations that have a choice of form, or need to know the form that IMPI prescribes.
/// Reduce_scatter_block, exscan and alltoallw use the entries of reduce_scatter, scan and
/// alltoallv.
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

/// The algorithms of collectives. Each collective has some of them.
enum class Form : std::uint8_t {
  kLinear,     ///< every master communicates with the root
  kTree,       ///< hypercube or binomial tree of masters
  kRooted,     ///< to one process, and from there to all
  kChain,      ///< from each rank to the next
  kDirect,     ///< every member communicates with every member of other clients
  kExchange,   ///< every master communicates with every other at the same time: one one-way delay
  kDoubling,   ///< each round doubles the number of masters that a master has reached: logarithmic
  kScattered,  ///< every master does the work for its part of the data, then sends that part to all
               ///< others
  kSliced,     ///< the data is divided among the members of each client, and each communicates with
               ///< its counterparts at the same time
  kPipeline,   ///< segments from each rank to the next
};

/// Bit flags for what a form can depend on besides the numbers of clients and bytes.
enum Property : std::uint8_t {
  kNothing = 0,
  kAlike =
      1,  ///< all clients represent data alike and combine it alike (Limits::same_representation)
  kInOrder = 2,       ///< one result per client is enough: the operation commutes, or each client's
                      ///< ranks are consecutive
  kSlices = 4,        ///< the operation commutes, and every client has more than one member
  kManySegments = 8,  ///< the data has at least one segment for each rank
};

/// A form that the user has chosen, for data of at least `from` bytes. Nothing: the table's own
/// choice.
struct ChosenForm {
  std::uint64_t from = 0;
  std::optional<Form> form;
  bool operator==(const ChosenForm&) const = default;
};

/// The settings of the variable IMPISHIM_COLLECTIVES. They are the same on all systems.
struct Overrides {
  std::array<std::vector<ChosenForm>, kCollectiveCount> forms;  ///< by Collective; `from` ascends
  std::uint64_t segment = 65536;  ///< bytes in one message of longer data: one packet, sent eagerly
  std::uint64_t long_from =
      262144;  ///< bytes from which own forms optimize for bandwidth instead of delay
  bool operator==(const Overrides&) const = default;
  /// Returns the form that the user has chosen for data of this size. Nothing if there is none.
  [[nodiscard]] std::optional<Form> form(Collective collective, std::uint64_t bytes) const;
};

/// Parses `name=value` items separated by commas or line ends, e.g.
/// `bcast=linear,allreduce@65536=exchange,segment=65536`. A form holds from the number of bytes
/// behind the @ on, or for all sizes; `default` is the table's own choice. What follows a # in a
/// line is a comment. Empty text means all defaults. Fails with kConfiguration; the text names the
/// wrong word and the allowed ones.
[[nodiscard]] Result<Overrides> parse_overrides(std::string_view text);
/// Does the same with the value of IMPISHIM_COLLECTIVES: `@FILE` stands for the contents of a file.
[[nodiscard]] Result<Overrides> read_overrides(const std::string& value);
/// Returns a hash that is equal for equal choices on every machine. Different choices have
/// different hashes, except for collisions. `as_lam`: IMPISHIM_FOREIGN=lam is set.
[[nodiscard]] std::uint64_t fingerprint(const Overrides& overrides, bool as_lam = false);

/// The settings on which all systems agree at startup.
struct Limits {
  std::int32_t max_linear = 4;  ///< C_COLL_MAXLINEAR: largest number of masters that counts as few
  std::int64_t xsize = 1024;    ///< C_COLL_XSIZE: bytes from which IMPI's long forms are used
  bool impi_only = false;       ///< a foreign implementation takes part: only the forms of IMPI 0.0
  bool as_lam = false;  ///< it does, and IMPISHIM_FOREIGN=lam: forms, context and representation as
                        ///< in LAM/MPI
  /// True if all clients of the communicator represent data alike and combine it alike. Masters may
  /// then relay bytes whose type they do not know, and several of them may compute the same result.
  bool same_representation = true;
  /// Members may give a Bcast different lengths by mistake, which each is to learn instead of
  /// waiting for ever. Costs no message.
  bool lengths_may_differ = false;
  Overrides overrides;
};

/// Returns the form for one call. `clients` is the number of clients of the communicator. `bytes`
/// is the size that the operation's row in form_table.hpp refers to, in external32, so it is the
/// same everywhere. `has` holds the properties of this call besides kAlike.
[[nodiscard]] Form choose(Collective collective, std::int32_t clients, std::uint64_t bytes,
                          const Limits& limits, std::uint8_t has = kInOrder);

/// Returns the number of elements of `element_bytes` bytes in one message of longer data. It is at
/// least one. In the forms of IMPI 0.0 it covers all elements.
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
  // Tags of forms that IMPI does not have.
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
  kTogetherTag =
      380,  ///< blocks of several members, between masters or between a master and a root
  kStraightTag = 381,  ///< a block that goes directly from its owner to its receiver
  kEdgeTag = 1000,     ///< plus the edge's label
};

}  // namespace impishim::collectives
