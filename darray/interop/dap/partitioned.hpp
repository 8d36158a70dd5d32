// SPDX-License-Identifier: Apache-2.0
/// `__partitioned__` (the draft that Heat implements): a grid of rectangular partitions with their
/// places, as an export only.
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
  std::vector<Index> start;     ///< global indices of its first element
  std::vector<Index> shape;
  int rank = 0;                     ///< the process that has it (its primary copy)
  std::optional<Buffer> data = {};  ///< its memory, if that is this process's
};

/// The whole array.
struct Partitioned {
  std::vector<Index> shape;
  std::vector<Index> partition_tiling;
  std::vector<Partition> partitions;  ///< row-major by position
  std::vector<std::size_t> locals;    ///< those of this process: their places in `partitions`
};

/// More partitions than this are refused: the format describes each of them on each process.
inline constexpr Index kMostPartitions = Index{1} << 20;

/// What a process exports of its local buffer (ghosts included; the partitions leave them out, and
/// point into it). A block axis has a partition for each part, a block-cyclic one for each block.
/// No communication. Error kUnsupported: an unstructured axis, too many partitions; kShape: a
/// buffer that is not the local shape.
Partitioned partitioned(const Distribution& distribution, int rank, const Buffer& local);

/// The draft's keys, without `get`: positions are lists, a partition that is not here has `data`
/// null, else its array interface.
std::string to_json(const Partitioned& partitioned);

}  // namespace impishim::darray::dap
