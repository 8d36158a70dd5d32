// SPDX-License-Identifier: Apache-2.0
/// Distributions from short descriptions (DIS-01, DIS-03).
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "darray/index/distribution.hpp"

namespace impishim::darray {

/// What make_distribution() may be told besides the shape. What is not given has a default.
struct DistributionOptions {
  /// One letter for each axis: 'n' not distributed, 'b' block (ceiling rule), 'e' block (balanced),
  /// 'c' block-cyclic. Axes without a letter are not distributed. Nothing at all: block on axis 0.
  std::string kinds = {};
  /// The same by axis number; it counts before `kinds`.
  std::map<int, char> kinds_by_axis = {};
  /// The number of processes for each axis, 1 for those that are not distributed; missing ones
  /// are 1. Empty: ProcessGrid::for_shape().
  std::vector<int> grid = {};
  /// Block sizes of block-cyclic axes, by axis number; 1 otherwise.
  std::map<int, Index> block_sizes = {};
  /// The part that has the first block of a block-cyclic axis, by axis number; 0 otherwise.
  std::map<int, int> first_parts = {};
  /// Ghosts of every part of an axis, by axis number.
  std::map<int, Ghosts> ghosts = {};
  /// The ranks of the grid's places; empty: 0, 1, ...
  std::vector<int> members = {};
};

/// A distribution of an array of that shape over at most `processes` processes. Every distributed
/// axis has a grid dimension, in the order of the axes.
/// @throws Error kArgument with the axis for an unknown kind or an axis number that is not there,
/// kShape for a negative extent, kLayout if the grid has more places than there are processes, or
/// an axis is given several processes though it is not distributed; and what the maps and the grid
/// throw.
[[nodiscard]] DistributionPtr make_distribution(std::span<const Index> shape, int processes,
                                                const DistributionOptions& options = {});

/// A distribution with these maps: every map but a collapsed one has a grid dimension of its own,
/// in the order of the axes.
[[nodiscard]] DistributionPtr make_distribution(std::vector<DimMap> maps,
                                                std::vector<int> members = {});

/// Every process holds the whole array (d2o's `not`, D2O-01).
[[nodiscard]] DistributionPtr make_replicated(std::span<const Index> shape, int processes);

/// One process of the communicator holds the whole array.
[[nodiscard]] DistributionPtr make_on_one(std::span<const Index> shape, int rank);

}  // namespace impishim::darray
