// SPDX-License-Identifier: Apache-2.0
/// Processes in a grid: row-major, over any processes of a communicator in any order.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "darray/index/triplet.hpp"

namespace impishim::darray {

/// An immutable grid of processes. The place with coordinates (i, j) in a grid of extents N x M is
/// i * M + j, as MPI_Cart_create() without reordering has it (DAP-26); the process there is member
/// i * M + j. No dimensions: one process.
class ProcessGrid {
 public:
  /// No dimensions, process 0 alone.
  ProcessGrid();
  /// The processes 0, 1, ... @throws Error kLayout for an extent below 1 or a product beyond
  /// INT_MAX.
  explicit ProcessGrid(std::vector<int> extents);
  /// These processes in this order: ranks in a communicator. @throws Error kLayout if they are not
  /// as many as the grid has places, if one is negative or stands twice.
  ProcessGrid(std::vector<int> extents, std::vector<int> members);

  [[nodiscard]] int dimensions() const { return static_cast<int>(extents_.size()); }
  /// @throws Error kArgument for a dimension that is not there.
  [[nodiscard]] int extent(int dimension) const;
  [[nodiscard]] const std::vector<int>& extents() const { return extents_; }
  /// The number of places.
  [[nodiscard]] int size() const { return size_; }
  /// The rank at each place, in row-major order.
  [[nodiscard]] std::vector<int> members() const;

  /// The rank at a place of the row-major order.
  [[nodiscard]] int rank_at(int place) const {
    return members_.empty() ? place : members_[static_cast<std::size_t>(place)];
  }
  /// The place at which a rank stands, or nothing for a process outside of the grid.
  [[nodiscard]] std::optional<int> place_of(int rank) const;
  [[nodiscard]] bool contains(int rank) const { return place_of(rank).has_value(); }
  /// One coordinate of a place, without the others.
  [[nodiscard]] int coordinate(int place, int dimension) const {
    const auto index = static_cast<std::size_t>(dimension);
    return place / strides_[index] % extents_[index];
  }
  /// How many places lie between neighbours along a dimension.
  [[nodiscard]] int stride(int dimension) const {
    return strides_[static_cast<std::size_t>(dimension)];
  }

  /// @throws Error kArgument for the wrong number of coordinates or one outside of its dimension.
  [[nodiscard]] int rank_of(std::span<const int> coordinates) const;
  /// Nothing for a process outside of the grid.
  [[nodiscard]] std::optional<std::vector<int>> coordinates_of(int rank) const;

  /// The part of the grid with one coordinate fixed (ADL-01): the dimension stays, with extent 1,
  /// so that the others keep their numbers.
  [[nodiscard]] ProcessGrid restricted(int dimension, int coordinate) const;

  /// A grid with one dimension for each distributed axis, whose ratios come closest (2-norm over
  /// all pairs of axes) to those of the shape, as DistArray chooses it (DIS-02). One distributed
  /// axis takes all processes, but at most as many as its extent. Among equal ones the first in
  /// lexicographic order counts. Factors of 1 are allowed, so that every number of processes works.
  /// @throws Error kArgument if processes < 1 or the two lists differ in length.
  [[nodiscard]] static ProcessGrid for_shape(int processes, std::span<const Index> shape,
                                             const std::vector<bool>& distributed);

  [[nodiscard]] std::uint64_t hash() const;
  bool operator==(const ProcessGrid& other) const {
    return extents_ == other.extents_ && members_ == other.members_;
  }

 private:
  std::vector<int> extents_;
  std::vector<int> strides_;
  std::vector<int> members_;                 // empty: 0, 1, ...
  std::vector<std::pair<int, int>> sorted_;  // (rank, place), if members_ is not empty
  int size_ = 1;
};

}  // namespace impishim::darray
