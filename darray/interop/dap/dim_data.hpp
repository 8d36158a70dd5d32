// SPDX-License-Identifier: Apache-2.0
/// Dimension dictionaries of the Distributed Array Protocol 0.10.0 as values, and what one process
/// can compute about its own piece. Purely local: no communication, no access to the array's
/// memory.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "darray/interop/dap/value.hpp"

namespace impishim::darray::dap {

/// The distribution of an axis: the protocol's 'b', 'c' and 'u'.
enum class DistType : char { kBlock = 'b', kCyclic = 'c', kUnstructured = 'u' };

/// Padding widths at the beginning and at the end of the local buffer.
using Padding = std::array<Index, 2>;

/// One dimension dictionary, with exactly the protocol's keys. An unset member is an absent key. If
/// all are unset, this is the empty dictionary: the protocol's alias for an axis that is not
/// distributed.
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
  /// Keys that the protocol does not define. Lenient reading keeps them as they came, so that they
  /// are exported again.
  Dictionary extra;

  bool operator==(const DimData&) const = default;
  /// Returns true if no key is set, neither of the protocol nor in `extra`.
  [[nodiscard]] bool is_alias() const;
};

/// Returns the full dictionary for `{}` with a buffer of this extent (protocol: "Empty dimension
/// dictionary"). Returns any other dictionary unchanged.
DimData resolved(const DimData& dimension, Index buffer_extent);

/// Returns the number of elements of the axis that this process owns. Boundary padding is owned,
/// communication padding is not (protocol: 'size', 'padding'). This function and those below expect
/// a resolved dictionary that validate() accepts.
Index owned_count(const DimData& dimension);
/// Returns the extent of the local buffer: owned elements and communication padding.
Index buffer_extent(const DimData& dimension);
/// Returns the communication padding: `padding` without the entries that are boundary padding.
Padding communication_padding(const DimData& dimension);
/// Returns the boundary padding: the first entry is set on grid rank 0 only, the second on the last
/// grid rank only; otherwise they are 0.
Padding boundary_padding(const DimData& dimension);
/// Returns the owned elements of the local buffer: [communication lower, extent - communication
/// upper).
Triplet owned_part(const DimData& dimension);

/// Returns the global index (the label for 'u') of an element of the local buffer, including
/// padding. Periodic axes do not wrap: boundary padding has separate indices. Throws Error(kKey) if
/// the index is not an element of the buffer.
Index to_global(const DimData& dimension, Index buffer_index);
/// Returns the position in the local buffer of a global index as an owned element. Returns nothing
/// if another process owns it. Throws Error(kKey) if it is not an index of a 'b' or 'c' axis of
/// this size.
std::optional<Index> to_local(const DimData& dimension, Index global_index);
/// Returns the positions in the local buffer of the owned elements of a global slice. The slice is
/// given by its resolved triplet with a positive step; the axis is 'b' or 'c'. Each element is in
/// one triplet. Triplets are ordered by their first element; those of a block-cyclic axis may
/// interleave. A 'b' axis and a true cyclic axis give at most one. Throws Error(kKey) if the slice
/// is outside the axis or its step is not positive. Throws Error(kUnsupported) for a 'u' axis.
std::vector<Triplet> to_local(const DimData& dimension, Triplet global);

/// Returns the shape of the whole array: every `size`.
std::vector<Index> global_shape(std::span<const DimData> dimensions);
/// Returns the number of elements of the whole array: the product of all sizes, or 1 without axes.
/// Throws Error(kShape) if it exceeds 2^63 - 1.
Index global_count(std::span<const DimData> dimensions);

/// Returns the dictionary to export, with all keys that are set.
Dictionary to_dictionary(const DimData& dimension);

}  // namespace impishim::darray::dap
