// SPDX-License-Identifier: Apache-2.0
/// Distributions made from short descriptions (DIS-01, DIS-03).
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "darray/index/distribution.hpp"

namespace impishim::darray {

/// The options of make_distribution(). Each has a default.
struct DistributionOptions {
  /// One letter for each axis: 'n' not distributed, 'b' block (ceiling rule), 'e' block (balanced),
  /// 'c' block-cyclic. Axes without a letter are not distributed. If empty, axis 0 is 'b'.
  std::string kinds = {};
  /// The same letters by axis number; they override `kinds`.
  std::map<int, char> kinds_by_axis = {};
  /// The number of processes for each axis, 1 for axes that are not distributed and for missing
  /// entries. If empty, ProcessGrid::for_shape() chooses.
  std::vector<int> grid = {};
  /// Block sizes of block-cyclic axes, by axis number; the default is 1.
  std::map<int, Index> block_sizes = {};
  /// The part that has the first block of a block-cyclic axis, by axis number; the default is 0.
  std::map<int, int> first_parts = {};
  /// The ghosts of every part of an axis, by axis number.
  std::map<int, Ghosts> ghosts = {};
  /// The ranks at the places of the grid. If empty: 0, 1, ...
  std::vector<int> members = {};
};

/// Returns a distribution of an array of that shape over at most `processes` processes. Every
/// distributed axis has a grid dimension, in the order of the axes.
/// @throws Error kArgument with the axis for an unknown kind or an axis number that does not exist,
/// kShape for a negative extent, kLayout if the grid has more places than there are processes or if
/// an axis that is not distributed has several processes; and what the maps and the grid throw.
[[nodiscard]] DistributionPtr make_distribution(std::span<const Index> shape, int processes,
                                                const DistributionOptions& options = {});

/// Returns a distribution with these maps. Every map except collapsed ones has a grid dimension of
/// its own, in the order of the axes.
[[nodiscard]] DistributionPtr make_distribution(std::vector<DimMap> maps,
                                                std::vector<int> members = {});

/// Returns a distribution in which every process holds the whole array (d2o's `not`, D2O-01).
[[nodiscard]] DistributionPtr make_replicated(std::span<const Index> shape, int processes);

/// Returns a distribution in which one process of the communicator holds the whole array.
[[nodiscard]] DistributionPtr make_on_one(std::span<const Index> shape, int rank);

}  // namespace impishim::darray
