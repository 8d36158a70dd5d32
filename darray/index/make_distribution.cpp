// SPDX-License-Identifier: Apache-2.0
#include "darray/index/make_distribution.hpp"

#include <numeric>

#include "darray/base/error.hpp"

namespace impishim::darray {

namespace {

/// Checks that an axis number that an option names exists.
template <class Value>
void check_axes(const std::map<int, Value>& by_axis, std::size_t axes, std::string_view what) {
  for (const auto& [axis, value] : by_axis) {
    if (axis < 0 || static_cast<std::size_t>(axis) >= axes) {
      fail(ErrorKind::kArgument, "{} for axis {} of an array with {} axes", what, axis, axes);
    }
  }
}

template <class Value>
Value at_axis(const std::map<int, Value>& by_axis, std::size_t axis, Value otherwise) {
  const auto found = by_axis.find(static_cast<int>(axis));
  return found == by_axis.end() ? otherwise : found->second;
}

std::string all_kinds(std::size_t axes, const DistributionOptions& options) {
  std::string kinds = options.kinds;
  if (kinds.empty() && options.kinds_by_axis.empty() && axes > 0) kinds.push_back('b');
  if (kinds.size() > axes)
    fail(ErrorKind::kArgument, "{} kinds for an array with {} axes", kinds.size(), axes);
  check_axes(options.kinds_by_axis, axes, "a kind");
  kinds.resize(axes, 'n');
  for (const auto& [axis, kind] : options.kinds_by_axis)
    kinds[static_cast<std::size_t>(axis)] = kind;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    if (std::string_view("nbec").find(kinds[axis]) == std::string_view::npos) {
      fail(ErrorKind::kArgument, "axis {}: the kind '{}' is none of n, b, e, c", axis, kinds[axis]);
    }
  }
  return kinds;
}

/// Returns the extents of the grid's dimensions, one for each distributed axis.
std::vector<int> grid_extents(std::span<const Index> shape, int processes, const std::string& kinds,
                              const DistributionOptions& options) {
  if (options.grid.empty()) {
    std::vector<bool> distributed;
    for (const char kind : kinds) distributed.push_back(kind != 'n');
    return ProcessGrid::for_shape(processes, shape, distributed).extents();
  }
  if (options.grid.size() > shape.size()) {
    fail(ErrorKind::kArgument, "grid extents for {} axes, but the array has {}",
         options.grid.size(), shape.size());
  }
  std::vector<int> extents;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const int extent = axis < options.grid.size() ? options.grid[axis] : 1;
    if (kinds[axis] != 'n') {
      extents.push_back(extent);
    } else if (extent != 1) {
      fail(ErrorKind::kLayout,
           "axis {}: {} processes, though it is not distributed: give it a kind or 1 process", axis,
           extent);
    }
  }
  return extents;
}

DimMap map_of(char kind, Index extent, int parts, std::size_t axis,
              const DistributionOptions& options) {
  switch (kind) {
    case 'b':
      return DimMap::block(extent, parts);
    case 'e':
      return DimMap::balanced(extent, parts);
    case 'c':
      return DimMap::block_cyclic(extent, parts, at_axis<Index>(options.block_sizes, axis, 1),
                                  at_axis<int>(options.first_parts, axis, 0));
    default:
      return DimMap::collapsed(extent);
  }
}

/// Checks the options that apply to block-cyclic axes only.
template <class Value>
void check_cyclic(const std::map<int, Value>& by_axis, const std::string& kinds,
                  std::string_view what) {
  check_axes(by_axis, kinds.size(), what);
  for (const auto& [axis, value] : by_axis) {
    if (kinds[static_cast<std::size_t>(axis)] != 'c') {
      fail(ErrorKind::kArgument, "axis {}: {} for an axis that is not block-cyclic", axis, what);
    }
  }
}

ProcessGrid make_grid(std::vector<int> extents, const std::vector<int>& members) {
  return members.empty() ? ProcessGrid(std::move(extents))
                         : ProcessGrid(std::move(extents), members);
}

std::vector<Axis> collapsed_axes(std::span<const Index> shape) {
  static_cast<void>(element_count(shape));
  std::vector<Axis> axes;
  for (const Index extent : shape) axes.push_back({DimMap::collapsed(extent)});
  return axes;
}

}  // namespace

DistributionPtr make_distribution(std::span<const Index> shape, int processes,
                                  const DistributionOptions& options) {
  static_cast<void>(element_count(shape));
  const std::string kinds = all_kinds(shape.size(), options);
  check_cyclic(options.block_sizes, kinds, "a block size");
  check_cyclic(options.first_parts, kinds, "a first part");
  check_axes(options.ghosts, shape.size(), "ghosts");
  std::vector<int> extents = grid_extents(shape, processes, kinds, options);
  ProcessGrid grid = make_grid(extents, options.members);
  if (grid.size() > processes)
    fail(ErrorKind::kLayout, "a grid of {} places for {} processes", grid.size(), processes);
  std::vector<Axis> axes;
  int dimension = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const bool distributed = kinds[axis] != 'n';
    const int parts = distributed ? extents[static_cast<std::size_t>(dimension)] : 1;
    Axis each{map_of(kinds[axis], shape[axis], parts, axis, options)};
    if (distributed) each.grid_dimension = dimension++;
    if (const Ghosts widths = at_axis(options.ghosts, axis, Ghosts{}); widths != Ghosts{}) {
      each.ghosts.assign(static_cast<std::size_t>(parts), widths);
    }
    axes.push_back(std::move(each));
  }
  return Distribution::make(std::move(grid), std::move(axes));
}

DistributionPtr make_distribution(std::vector<DimMap> maps, std::vector<int> members) {
  std::vector<Axis> axes;
  std::vector<int> extents;
  for (DimMap& map : maps) {
    Axis axis{std::move(map)};
    if (axis.map.kind() != DimMap::Kind::kCollapsed) {
      axis.grid_dimension = static_cast<int>(extents.size());
      extents.push_back(axis.map.parts());
    }
    axes.push_back(std::move(axis));
  }
  return Distribution::make(make_grid(std::move(extents), members), std::move(axes));
}

DistributionPtr make_replicated(std::span<const Index> shape, int processes) {
  return Distribution::make(ProcessGrid({processes}), collapsed_axes(shape));
}

DistributionPtr make_on_one(std::span<const Index> shape, int rank) {
  return Distribution::make(ProcessGrid({}, {rank}), collapsed_axes(shape));
}

}  // namespace impishim::darray
