// SPDX-License-Identifier: Apache-2.0
/// The layout of an array on processes: a grid of processes, and for each axis a map and the grid
/// dimension that it follows.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "darray/index/dim_map.hpp"
#include "darray/index/process_grid.hpp"
#include "darray/index/triplet.hpp"

namespace impishim::darray {

/// Cells below and above the owned cells along an axis.
struct Ghosts {
  Index lower = 0;
  Index upper = 0;
  bool operator==(const Ghosts&) const = default;
};

/// The grid dimension of an axis that follows no dimension.
inline constexpr int kNotDistributed = -1;

/// One axis of an array.
struct Axis {
  DimMap map;
  int grid_dimension = kNotDistributed;
  std::vector<Ghosts> ghosts = {};  ///< for each part of the map: cells in the local buffer around
                                    ///< the owned ones; empty: none
  Ghosts boundary = {};   ///< DAP's boundary padding: owned by the first and the last part, counted
                          ///< in the extent (DAP-36)
  bool periodic = false;  ///< the boundary mirrors the opposite end's interior (DAP-42)

  bool operator==(const Axis&) const = default;
};

/// An immutable layout. Ranks are ranks in the communicator to which the grid's members belong.
/// Grid dimensions that no axis follows replicate: every process along them holds the same piece,
/// and the process with coordinate 0 holds the primary copy (ADL-05). The local buffer of a process
/// consists of the owned part and the ghosts, axis by axis. Local indices refer to the owned part
/// and count from 0, unless a function says otherwise.
class Distribution {
 public:
  /// @throws Error kLayout, with the axis, for a grid dimension that does not exist or that two
  /// axes follow; for a map whose number of parts is not the dimension's extent (1 without a
  /// dimension); for ghosts that are negative, not given for each part, or on a map that is neither
  /// collapsed nor block; for a boundary that is negative or larger than the outer parts.
  Distribution(ProcessGrid grid, std::vector<Axis> axes);
  [[nodiscard]] static std::shared_ptr<const Distribution> make(ProcessGrid grid,
                                                                std::vector<Axis> axes) {
    return std::make_shared<const Distribution>(std::move(grid), std::move(axes));
  }

  [[nodiscard]] int dimensions() const { return static_cast<int>(axes_.size()); }
  [[nodiscard]] const std::vector<Index>& shape() const { return shape_; }
  /// Returns the number of elements of the array, 1 if there are no axes.
  [[nodiscard]] Index size() const { return size_; }
  [[nodiscard]] const std::vector<Axis>& axes() const { return axes_; }
  /// @throws Error kArgument for an axis that does not exist, as all queries about an axis do.
  [[nodiscard]] const Axis& axis(int axis) const;
  [[nodiscard]] const ProcessGrid& grid() const { return grid_; }

  [[nodiscard]] bool is_member(int rank) const { return grid_.contains(rank); }
  /// Returns the part of an axis's map that a process has.
  /// @throws Error kArgument for a process outside the grid.
  [[nodiscard]] int part(int rank, int axis) const;
  /// Returns the parts of all axes.
  /// @throws as part().
  [[nodiscard]] std::vector<int> parts(int rank) const;
  /// Returns the owned extent of each axis; all are 0 for a process outside the grid. For an array
  /// without axes, only owned_size() distinguishes the two.
  [[nodiscard]] std::vector<Index> owned_shape(int rank) const;
  /// Returns the number of owned elements, 0 for a process outside the grid.
  [[nodiscard]] Index owned_size(int rank) const;
  /// Returns the extents of the local buffer, ghosts included; all are 0 for a process outside the
  /// grid.
  [[nodiscard]] std::vector<Index> local_shape(int rank) const;
  [[nodiscard]] Index local_size(int rank) const;
  /// Returns where the owned part begins in the local buffer, which is the number of lower ghosts.
  /// All are 0 for a process outside the grid.
  [[nodiscard]] std::vector<Index> owned_offset(int rank) const;
  /// Returns the ghosts of a process along an axis.
  [[nodiscard]] Ghosts ghosts(int rank, int axis) const;
  [[nodiscard]] bool has_ghosts() const;

  /// Returns true if there is a grid dimension of more than one process that no axis follows.
  [[nodiscard]] bool is_replicated() const { return replicas_ > 1; }
  /// Returns the number of processes that hold each piece.
  [[nodiscard]] int replicas() const { return replicas_; }
  /// Returns all processes with the same piece as this one, in the order of their places in the
  /// grid; the first has the primary copy.
  /// @throws Error kArgument for a process outside the grid.
  [[nodiscard]] std::vector<int> copies(int rank) const;
  /// Returns the process that has the primary copy of this process's piece.
  /// @throws as copies().
  [[nodiscard]] int primary(int rank) const;
  [[nodiscard]] bool is_primary(int rank) const { return is_member(rank) && primary(rank) == rank; }

  /// Returns all processes that own the element at these global indices (or labels), in the order
  /// of their places in the grid. The first has the lowest parts and a primary copy.
  /// @throws Error kKey with the axis for an index outside it, kArgument for the wrong number of
  /// indices.
  [[nodiscard]] std::vector<int> owners(std::span<const Index> global) const;
  /// Returns the first of them.
  /// @throws as owners().
  [[nodiscard]] int owner(std::span<const Index> global) const;
  /// Returns the local indices in the owned part, or nothing if the process does not own the
  /// element.
  /// @throws as owners().
  [[nodiscard]] std::optional<std::vector<Index>> to_local(int rank,
                                                           std::span<const Index> global) const;
  /// Returns the global indices of an owned element.
  /// @throws Error kKey with the axis for an index outside the owned part.
  [[nodiscard]] std::vector<Index> to_global(int rank, std::span<const Index> local) const;

  /// Returns true if every process owns the same elements in the same order in both layouts,
  /// whatever the kinds of the maps. Ghosts do not count.
  [[nodiscard]] bool same_pieces(const Distribution& other) const;
  /// Returns true if grid, axes and ghosts are the same.
  bool operator==(const Distribution& other) const;
  /// Returns a hash that is the same for equal distributions, on all machines.
  [[nodiscard]] std::uint64_t hash() const { return hash_; }

 private:
  void check_axis(int number);
  [[nodiscard]] int place(int rank) const;
  [[nodiscard]] int part_at(int place, std::size_t axis) const;
  void check_tuple(std::span<const Index> indices) const;
  void check_global(std::span<const Index> global) const;
  [[nodiscard]] std::uint64_t compute_hash() const;

  ProcessGrid grid_;
  std::vector<Axis> axes_;
  std::vector<Index> shape_;
  Index size_ = 1;
  std::vector<int> free_dimensions_;  // those that no axis follows
  int replicas_ = 1;
  std::uint64_t hash_ = 0;
};

using DistributionPtr = std::shared_ptr<const Distribution>;

}  // namespace impishim::darray
