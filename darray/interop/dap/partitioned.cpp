// SPDX-License-Identifier: Apache-2.0
#include "darray/interop/dap/partitioned.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "darray/interop/dap/json.hpp"

namespace impishim::darray::dap {

namespace {

/// The side of a rectangle along one axis.
struct Side {
  Index start;
  Index extent;
  int part;
  Index local;  // position in the owned part
};

std::vector<Side> sides_of(const DimMap& map, int axis) {
  std::vector<Side> sides;
  if (map.kind() == DimMap::Kind::kUnstructured)
    fail(ErrorKind::kUnsupported, "axis {} is unstructured: __partitioned__ knows rectangles only",
         axis);
  if (map.kind() != DimMap::Kind::kBlockCyclic) {
    for (int part = 0; part < map.parts(); ++part) {
      const auto [begin, end] = map.block_of(part);
      sides.push_back({begin, end - begin, part, 0});
    }
    return sides;
  }
  const Index block = map.block_size();
  if (map.extent() / block > kMostPartitions)
    fail(ErrorKind::kUnsupported, "axis {} has {} blocks, and __partitioned__ describes each", axis,
         map.extent() / block);
  for (Index start = 0; start < map.extent(); start += block) {
    const int part = map.owner(start);
    sides.push_back({start, std::min(block, map.extent() - start), part, *map.local(part, start)});
  }
  return sides;
}

/// Returns the memory of a rectangle in the local buffer of the process that holds it.
Buffer cut(const Distribution& distribution, int rank, const Buffer& local,
           const Partition& partition, const std::vector<const Side*>& sides) {
  Buffer buffer = local;
  const auto offset = distribution.owned_offset(rank);
  for (std::size_t axis = 0; axis < sides.size(); ++axis)
    if (partition.shape[axis] > 0)
      buffer.data += (offset[axis] + sides[axis]->local) * local.strides[axis];
  buffer.shape = partition.shape;
  return buffer;
}

/// Returns the process that holds these parts, with coordinate 0 in grid dimensions that no axis
/// follows.
int holder_of(const Distribution& distribution, const std::vector<const Side*>& sides) {
  std::vector<int> coordinates(static_cast<std::size_t>(distribution.grid().dimensions()), 0);
  for (std::size_t axis = 0; axis < sides.size(); ++axis)
    if (const int dimension = distribution.axes()[axis].grid_dimension;
        dimension != kNotDistributed)
      coordinates[static_cast<std::size_t>(dimension)] = sides[axis]->part;
  return distribution.grid().rank_of(coordinates);
}

}  // namespace

Partitioned partitioned(const Distribution& distribution, int rank, const Buffer& local) {
  if (distribution.is_member(rank) && local.shape != distribution.local_shape(rank))
    fail(ErrorKind::kShape, "the buffer's extents are not those of rank {}'s piece", rank);
  Partitioned result;
  result.shape = distribution.shape();
  std::vector<std::vector<Side>> sides;
  Index count = 1;
  for (int axis = 0; axis < distribution.dimensions(); ++axis) {
    sides.push_back(sides_of(distribution.axis(axis).map, axis));
    result.partition_tiling.push_back(static_cast<Index>(sides.back().size()));
    count *= result.partition_tiling.back();
    if (count > kMostPartitions)
      fail(ErrorKind::kUnsupported, "more than {} partitions, and __partitioned__ describes each",
           kMostPartitions);
  }
  for (Index number = 0; number < count; ++number) {
    Partition partition;
    partition.position.resize(sides.size());
    std::vector<const Side*> chosen(sides.size());
    Index rest = number;
    for (std::size_t axis = sides.size(); axis-- > 0;) {
      partition.position[axis] = rest % result.partition_tiling[axis];
      rest /= result.partition_tiling[axis];
      chosen[axis] = &sides[axis][static_cast<std::size_t>(partition.position[axis])];
    }
    for (const Side* side : chosen) {
      partition.start.push_back(side->start);
      partition.shape.push_back(side->extent);
    }
    partition.rank = holder_of(distribution, chosen);
    if (distribution.is_member(rank) && distribution.primary(rank) == partition.rank) {
      partition.rank = rank;  // if this process has a copy, name that one
      partition.data = cut(distribution, rank, local, partition, chosen);
      result.locals.push_back(result.partitions.size());
    }
    result.partitions.push_back(std::move(partition));
  }
  return result;
}

std::string to_json(const Partitioned& partitioned) {
  nlohmann::json partitions = nlohmann::json::array();
  for (const Partition& partition : partitioned.partitions)
    partitions.push_back(
        {{"position", partition.position},
         {"start", partition.start},
         {"shape", partition.shape},
         {"location", {partition.rank}},
         {"data", partition.data ? nlohmann::json::parse(array_interface(*partition.data))
                                 : nlohmann::json()}});
  nlohmann::json locals = nlohmann::json::array();
  for (const std::size_t local : partitioned.locals)
    locals.push_back(partitioned.partitions[local].position);
  return nlohmann::json{{"shape", partitioned.shape},
                        {"partition_tiling", partitioned.partition_tiling},
                        {"partitions", partitions},
                        {"locals", locals}}
      .dump();
}

}  // namespace impishim::darray::dap
