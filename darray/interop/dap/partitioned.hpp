// SPDX-License-Identifier: Apache-2.0
/// `__partitioned__`, the draft that Heat implements, for export only: a grid of rectangular
/// partitions and their locations.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "darray/index/distribution.hpp"
#include "darray/interop/dap/buffer.hpp"

namespace impishim::darray::dap {

/// One rectangle of the array.
struct Partition {
  std::vector<Index> position;  ///< in the grid of partitions
  std::vector<Index> start;     ///< global indices of the first element
  std::vector<Index> shape;
  int rank = 0;                     ///< the process that holds it (the primary copy)
  std::optional<Buffer> data = {};  ///< its memory, if this process holds it
};

/// The whole array.
struct Partitioned {
  std::vector<Index> shape;
  std::vector<Index> partition_tiling;
  std::vector<Partition> partitions;  ///< row-major by position
  std::vector<std::size_t> locals;    ///< positions in `partitions` of this process's partitions
};

/// The largest number of partitions. The format describes each partition on each process, so larger
/// numbers are refused.
inline constexpr Index kMostPartitions = Index{1} << 20;

/// Returns what a process exports of its local buffer. `local` includes ghosts; the partitions
/// point into it and exclude them. A block axis has a partition for each part, a block-cyclic axis
/// one for each block. No communication. Throws Error(kUnsupported) if an axis is unstructured, or
/// if there are too many partitions. Throws Error(kShape) if the buffer does not have the local
/// shape.
Partitioned partitioned(const Distribution& distribution, int rank, const Buffer& local);

/// Returns the draft's keys without `get` as JSON. Positions are lists. The `data` of a partition
/// is its array interface if this process holds it, else null.
std::string to_json(const Partitioned& partitioned);

}  // namespace impishim::darray::dap
