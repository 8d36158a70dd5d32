// SPDX-License-Identifier: Apache-2.0
/// Dimension dictionaries of the Distributed Array Protocol 0.10.0 as values, and what one process
/// can say of its own piece. Purely local: no communication, no memory of the array.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "darray/interop/dap/value.hpp"

namespace impishim::darray::dap {

/// How an axis is distributed: the protocol's 'b', 'c' and 'u'.
enum class DistType : char { kBlock = 'b', kCyclic = 'c', kUnstructured = 'u' };

/// Widths at the beginning and at the end of the local buffer.
using Padding = std::array<Index, 2>;

/// One dimension dictionary: exactly the protocol's keys; an unset member is a key that is absent.
/// All unset is the empty dictionary, the protocol's alias for an axis that lies whole on one
/// process.
struct DimData {
  std::optional<DistType> dist_type;
  std::optional<Index> size;
  std::optional<Index> proc_grid_size;
  std::optional<Index> proc_grid_rank;
  std::optional<Index> start;
  std::optional<Index> stop;
  std::optional<Padding> padding;
  std::optional<bool> periodic;
  std::optional<Index> block_size;
  std::optional<std::vector<Index>> indices;
  std::optional<bool> one_to_one;
  /// Keys the protocol does not know, kept as they came, so that they leave again (lenient reading
  /// only).
  Dictionary extra;

  bool operator==(const DimData&) const = default;
  /// No key of the protocol is set.
  [[nodiscard]] bool is_alias() const;
};

/// `{}` spelt out for a buffer of this extent (protocol: "Empty dimension dictionary"); anything
/// else unchanged.
DimData resolved(const DimData& dimension, Index buffer_extent);

/// The functions below expect a resolved dictionary that validate() accepts.
/// Elements of the axis that this process owns; communication padding is not owned, boundary
/// padding is (protocol: 'size', 'padding').
Index owned_count(const DimData& dimension);
/// Extent of the local buffer: owned elements and communication padding.
Index buffer_extent(const DimData& dimension);
/// Communication padding: `padding` without the entries that are boundary padding.
Padding communication_padding(const DimData& dimension);
/// Boundary padding: the first entry on grid rank 0, the second on the last grid rank, else 0.
Padding boundary_padding(const DimData& dimension);
/// The elements of the local buffer that are owned: [communication lower, extent - communication
/// upper).
Triplet owned_part(const DimData& dimension);

/// Global index (or label, for 'u') of an element of the local buffer, padding included. Periodic
/// axes do not wrap: boundary padding has indices of its own. Error kKey: not an element of the
/// buffer.
Index to_global(const DimData& dimension, Index buffer_index);
/// Where in the local buffer a global index lies as an owned element; nothing if another process
/// owns it. Error kKey: no index of a 'b' or 'c' axis of this size.
std::optional<Index> to_local(const DimData& dimension, Index global_index);
/// Positions in the local buffer of the owned elements of a global slice (by its resolved triplet,
/// positive step; 'b' and 'c'). Each element is in one triplet; triplets are ordered by their first
/// element, and those of a block-cyclic axis may interleave. A 'b' axis, and a true cyclic one,
/// gives at most one. Error kKey: outside the axis; kUnsupported: a 'u' axis.
std::vector<Triplet> to_local(const DimData& dimension, Triplet global);

/// Shape of the whole array: every `size`.
std::vector<Index> global_shape(std::span<const DimData> dimensions);
/// Number of elements of the whole array: product of all sizes, 1 for no axes. Error kShape: beyond
/// 2^63 - 1.
Index global_count(std::span<const DimData> dimensions);

/// The dictionary to hand out: all keys that are set.
Dictionary to_dictionary(const DimData& dimension);

}  // namespace impishim::darray::dap
