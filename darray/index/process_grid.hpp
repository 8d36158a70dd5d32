// SPDX-License-Identifier: Apache-2.0
/// Grids of processes: row-major, of any processes of a communicator in any order.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "darray/index/triplet.hpp"

namespace impishim::darray {

/// An immutable grid of processes. In a grid of extents N x M, the place with coordinates (i, j) is
/// i * M + j, as in MPI_Cart_create() without reordering (DAP-26), and its process is member i * M
/// + j. A grid without dimensions has one process.
class ProcessGrid {
 public:
  /// Creates a grid without dimensions, of process 0 alone.
  ProcessGrid();
  /// Creates a grid of the processes 0, 1, ...
  /// @throws Error kLayout for an extent below 1 or a product beyond INT_MAX.
  explicit ProcessGrid(std::vector<int> extents);
  /// Creates a grid of these processes, which are ranks in a communicator, in this order.
  /// @throws Error kLayout if their number is not the number of places, or if a rank is negative or
  /// appears twice.
  ProcessGrid(std::vector<int> extents, std::vector<int> members);

  [[nodiscard]] int dimensions() const { return static_cast<int>(extents_.size()); }
  /// @throws Error kArgument for a dimension that does not exist.
  [[nodiscard]] int extent(int dimension) const;
  [[nodiscard]] const std::vector<int>& extents() const { return extents_; }
  /// Returns the number of places.
  [[nodiscard]] int size() const { return size_; }
  /// Returns the rank at each place, in row-major order.
  [[nodiscard]] std::vector<int> members() const;

  /// Returns the rank at a place of the row-major order.
  [[nodiscard]] int rank_at(int place) const {
    return members_.empty() ? place : members_[static_cast<std::size_t>(place)];
  }
  /// Returns the place of a rank, or nothing for a process outside the grid.
  [[nodiscard]] std::optional<int> place_of(int rank) const;
  [[nodiscard]] bool contains(int rank) const { return place_of(rank).has_value(); }
  /// Returns one coordinate of a place.
  [[nodiscard]] int coordinate(int place, int dimension) const {
    const auto index = static_cast<std::size_t>(dimension);
    return place / strides_[index] % extents_[index];
  }
  /// Returns the number of places between neighbours along a dimension.
  [[nodiscard]] int stride(int dimension) const {
    return strides_[static_cast<std::size_t>(dimension)];
  }

  /// @throws Error kArgument for the wrong number of coordinates or a coordinate outside its
  /// dimension.
  [[nodiscard]] int rank_of(std::span<const int> coordinates) const;
  /// Returns the coordinates of a process, or nothing for a process outside the grid.
  [[nodiscard]] std::optional<std::vector<int>> coordinates_of(int rank) const;

  /// Returns the part of the grid with one coordinate fixed (ADL-01). The dimension stays, with
  /// extent 1, so that the others keep their numbers.
  [[nodiscard]] ProcessGrid restricted(int dimension, int coordinate) const;

  /// Returns a grid with one dimension for each distributed axis. Its ratios are the closest ones
  /// to those of the shape (2-norm over all pairs of axes), as DistArray chooses it (DIS-02). A
  /// single distributed axis gets all processes, but at most its extent. Among equal grids the
  /// first in lexicographic order is chosen. Factors of 1 are allowed, so every number of processes
  /// works.
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
