// SPDX-License-Identifier: Apache-2.0
#include "darray/interop/dap/block_cyclic.hpp"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "darray/base/error.hpp"

namespace impishim::darray {

namespace {

int to_int(Index value, std::string_view what) {
  if (value > std::numeric_limits<int>::max())
    fail(ErrorKind::kUnsupported, "{} {} does not fit into an int", what, value);
  return static_cast<int>(value);
}

/// The blocks of an axis: all have one length, and are dealt round-robin, starting at part `first`.
struct Blocks {
  Index length;
  int first;
};

/// Returns the blocks of an axis. Throws Error(kUnsupported) if blocks have different lengths
/// (short or empty last ones are allowed), or if the axis has labels.
Blocks blocks_of(const DimMap& map, int axis) {
  switch (map.kind()) {
    case DimMap::Kind::kCollapsed:
      return {std::max<Index>(map.extent(), 1), 0};
    case DimMap::Kind::kBlockCyclic:
      return {map.block_size(), map.first_part()};
    case DimMap::Kind::kBlock: {
      const Index length = std::max<Index>(map.owned(0), 1);
      for (int part = 0; part < map.parts(); ++part) {
        const Index before = map.block_of(part).first;
        // The last part that is not empty may have fewer elements than the others, but not more.
        if ((before < map.extent() && before != part * length) || map.owned(part) > length)
          fail(ErrorKind::kUnsupported,
               "axis {}: part {} has {} from {} on: blocks of one length only ({}); use "
               "block_cyclic or block",
               axis, part, map.owned(part), before, length);
      }
      return {length, 0};
    }
    case DimMap::Kind::kUnstructured:
      break;
  }
  fail(ErrorKind::kUnsupported, "axis {} is unstructured: blocks only", axis);
}

void require_plain(const Distribution& distribution, std::string_view target) {
  if (distribution.has_ghosts())
    fail(ErrorKind::kUnsupported, "{} knows no ghosts: take the owned section", target);
  if (distribution.is_replicated())
    fail(ErrorKind::kUnsupported, "{} knows no replicated arrays ({} copies): remap first", target,
         distribution.replicas());
  for (int place = 0; place < distribution.grid().size(); ++place)
    if (distribution.grid().rank_at(place) != place)
      fail(ErrorKind::kLayout,
           "place {} of the grid is rank {}: {} counts processes in the grid's order; use a "
           "communicator of the "
           "members in their order",
           place, distribution.grid().rank_at(place), target);
}

DimMap cyclic_or_collapsed(Index extent, int parts, Index block, int first) {
  return parts == 1 ? DimMap::collapsed(extent) : DimMap::block_cyclic(extent, parts, block, first);
}

/// Returns the map of one axis of MPI_Type_create_darray(), as MPI-3.1, 4.1.4 defines it.
DimMap map_of(const MpiDarrayArguments& arguments, std::size_t axis) {
  const int size = arguments.gsizes[axis];
  const int parts = arguments.psizes[axis];
  const auto darg = arguments.dargs[axis];
  if (size < 0) fail(ErrorKind::kArgument, "axis {}: gsizes {} is negative", axis, size);
  if (parts < 1) fail(ErrorKind::kArgument, "axis {}: psizes {} is less than 1", axis, parts);
  if (darg && *darg < 1)
    fail(ErrorKind::kArgument, "axis {}: dargs {} is less than 1", axis, *darg);
  switch (arguments.distribs[axis]) {
    case MpiDistribute::kNone:
      if (parts != 1)
        fail(ErrorKind::kArgument, "axis {}: not distributed, and psizes {}: it must be 1", axis,
             parts);
      return DimMap::collapsed(size);
    case MpiDistribute::kCyclic:
      return cyclic_or_collapsed(size, parts, darg.value_or(1), 0);
    case MpiDistribute::kBlock:
      break;
  }
  if (!darg) return parts == 1 ? DimMap::collapsed(size) : DimMap::block(size, parts);
  if (static_cast<Index>(*darg) * parts < size)
    fail(ErrorKind::kArgument, "axis {}: {} blocks of {} do not hold gsizes {}", axis, parts, *darg,
         size);
  std::vector<Index> bounds{0};
  for (int part = 1; part <= parts; ++part)
    bounds.push_back(std::min<Index>(static_cast<Index>(part) * *darg, size));
  return parts == 1 ? DimMap::collapsed(size) : DimMap::bounded(std::move(bounds));
}

/// Returns a distribution with one grid dimension, in the axes' order, for each axis that has
/// several processes.
DistributionPtr distribution_of(std::vector<DimMap> maps) {
  std::vector<int> extents;
  std::vector<Axis> axes;
  for (DimMap& map : maps) {
    const int parts = map.parts();
    axes.push_back({std::move(map)});
    if (parts == 1) continue;
    axes.back().grid_dimension = static_cast<int>(extents.size());
    extents.push_back(parts);
  }
  return Distribution::make(extents.empty() ? ProcessGrid() : ProcessGrid(std::move(extents)),
                            std::move(axes));
}

}  // namespace

BlacsLayout to_blacs(const Distribution& distribution, int rank, int context,
                     int leading_dimension) {
  constexpr std::string_view kTarget = "a BLACS grid";
  require_plain(distribution, kTarget);
  const int dimensions = distribution.dimensions();
  if (dimensions < 1 || dimensions > 2)
    fail(ErrorKind::kUnsupported, "an array of {} axes is no matrix", dimensions);
  const DimMap column = DimMap::collapsed(1);
  const DimMap& rows = distribution.axis(0).map;
  const DimMap& columns = dimensions == 2 ? distribution.axis(1).map : column;
  const Blocks row_blocks = blocks_of(rows, 0);
  const Blocks column_blocks = blocks_of(columns, 1);
  BlacsLayout layout;
  layout.rows = rows.parts();
  layout.columns = columns.parts();
  const bool crossed = layout.rows > 1 && layout.columns > 1 &&
                       distribution.axis(0).grid_dimension > distribution.axis(1).grid_dimension;
  layout.order = crossed ? BlacsOrder::kColumnMajor : BlacsOrder::kRowMajor;
  const Index local_rows =
      distribution.is_member(rank) ? rows.owned(distribution.part(rank, 0)) : 0;
  const int least = to_int(std::max<Index>(local_rows, 1), "LLD_");
  if (leading_dimension != 0 && leading_dimension < least)
    fail(ErrorKind::kLayout, "a leading dimension of {}, but rank {} has {} rows",
         leading_dimension, rank, local_rows);
  layout.descriptor = {1,
                       context,
                       to_int(rows.extent(), "M_"),
                       to_int(columns.extent(), "N_"),
                       to_int(row_blocks.length, "MB_"),
                       to_int(column_blocks.length, "NB_"),
                       row_blocks.first,
                       column_blocks.first,
                       leading_dimension != 0 ? leading_dimension : least};
  return layout;
}

DistributionPtr from_blacs(const BlacsLayout& layout) {
  const auto [type, context, rows, columns, row_block, column_block, row_source, column_source,
              leading] = layout.descriptor;
  if (type != 1) fail(ErrorKind::kArgument, "DTYPE_ {}: dense matrices (1) only", type);
  if (rows < 0 || columns < 0)
    fail(ErrorKind::kArgument, "M_ {}, N_ {}: extents are not negative", rows, columns);
  if (row_block < 1 || column_block < 1)
    fail(ErrorKind::kArgument, "MB_ {}, NB_ {}: blocks are at least 1", row_block, column_block);
  if (layout.rows < 1 || layout.columns < 1)
    fail(ErrorKind::kArgument, "a grid of {} x {} processes", layout.rows, layout.columns);
  if (row_source < 0 || row_source >= layout.rows || column_source < 0 ||
      column_source >= layout.columns)
    fail(ErrorKind::kArgument, "RSRC_ {}, CSRC_ {}: outside of the grid of {} x {}", row_source,
         column_source, layout.rows, layout.columns);
  DimMap row_map = cyclic_or_collapsed(rows, layout.rows, row_block, row_source);
  DimMap column_map = cyclic_or_collapsed(columns, layout.columns, column_block, column_source);
  if (layout.order == BlacsOrder::kRowMajor)
    return distribution_of({std::move(row_map), std::move(column_map)});
  if (layout.rows == 1 || layout.columns == 1)
    return distribution_of({std::move(row_map), std::move(column_map)});
  return Distribution::make(ProcessGrid({layout.columns, layout.rows}),
                            {{std::move(row_map), 1}, {std::move(column_map), 0}});
}

MpiDarrayArguments to_mpi_darray(const Distribution& distribution, int rank, MpiOrder order) {
  constexpr std::string_view kTarget = "MPI_Type_create_darray()";
  require_plain(distribution, kTarget);
  if (!distribution.is_member(rank)) fail(ErrorKind::kLayout, "rank {} is not in the grid", rank);
  MpiDarrayArguments arguments;
  arguments.size = distribution.grid().size();
  arguments.rank = rank;
  arguments.order = order;
  int last = -1;
  for (int axis = 0; axis < distribution.dimensions(); ++axis) {
    const Axis& description = distribution.axis(axis);
    const int parts = description.map.parts();
    const Blocks blocks = blocks_of(description.map, axis);
    if (blocks.first != 0)
      fail(ErrorKind::kUnsupported, "axis {}: the first block is on part {}, {} begins at 0", axis,
           blocks.first, kTarget);
    if (parts > 1 && description.grid_dimension < last)
      fail(ErrorKind::kUnsupported,
           "axis {} follows grid dimension {}, the axis before it {}: {} wants the axes' order",
           axis, description.grid_dimension, last, kTarget);
    if (parts > 1) last = description.grid_dimension;
    arguments.gsizes.push_back(to_int(description.map.extent(), "the extent"));
    arguments.psizes.push_back(parts);
    const bool is_cyclic = description.map.kind() == DimMap::Kind::kBlockCyclic;
    const bool is_whole = description.map.kind() == DimMap::Kind::kCollapsed;
    arguments.distribs.push_back(is_whole    ? MpiDistribute::kNone
                                 : is_cyclic ? MpiDistribute::kCyclic
                                             : MpiDistribute::kBlock);
    arguments.dargs.push_back(is_whole ? std::nullopt
                                       : std::optional(to_int(blocks.length, "the block")));
  }
  return arguments;
}

DistributionPtr from_mpi_darray(const MpiDarrayArguments& arguments) {
  const std::size_t axes = arguments.gsizes.size();
  if (arguments.distribs.size() != axes || arguments.dargs.size() != axes ||
      arguments.psizes.size() != axes)
    fail(ErrorKind::kArgument, "gsizes, distribs, dargs and psizes have {}, {}, {} and {} entries",
         axes, arguments.distribs.size(), arguments.dargs.size(), arguments.psizes.size());
  std::vector<DimMap> maps;
  Index processes = 1;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    maps.push_back(map_of(arguments, axis));
    processes *= arguments.psizes[axis];
    if (processes > arguments.size) break;
  }
  if (processes != arguments.size)
    fail(ErrorKind::kArgument, "psizes make a grid of {} processes, size is {}", processes,
         arguments.size);
  if (arguments.rank < 0 || arguments.rank >= arguments.size)
    fail(ErrorKind::kArgument, "rank {} is not one of {} processes", arguments.rank,
         arguments.size);
  return distribution_of(std::move(maps));
}

}  // namespace impishim::darray
