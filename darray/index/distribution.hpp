// SPDX-License-Identifier: Apache-2.0
/// How an array lies on processes: a grid of them, and for each axis a map and the grid dimension
/// that it follows.
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

/// Cells below and above the owned ones along an axis.
struct Ghosts {
  Index lower = 0;
  Index upper = 0;
  bool operator==(const Ghosts&) const = default;
};

/// The grid dimension of an axis that follows none.
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

/// An immutable layout. Ranks are ranks in the communicator that the grid's members are counted in.
/// Grid dimensions that no axis follows replicate: every process along them holds the same piece,
/// and the one with coordinate 0 is the primary copy (ADL-05). The local buffer of a process is
/// owned part plus ghosts, axis by axis; questions about local indices mean the owned part,
/// numbered from 0, unless they say otherwise.
class Distribution {
 public:
  /// @throws Error kLayout, with the axis, for a grid dimension that is not there or that two axes
  /// follow; a map whose number of parts is not the dimension's extent (1 without one); ghosts that
  /// are negative, not given for each part, or on a map that is not collapsed or block; a boundary
  /// that is negative or more than the outer parts own.
  Distribution(ProcessGrid grid, std::vector<Axis> axes);
  [[nodiscard]] static std::shared_ptr<const Distribution> make(ProcessGrid grid,
                                                                std::vector<Axis> axes) {
    return std::make_shared<const Distribution>(std::move(grid), std::move(axes));
  }

  [[nodiscard]] int dimensions() const { return static_cast<int>(axes_.size()); }
  [[nodiscard]] const std::vector<Index>& shape() const { return shape_; }
  /// The number of elements of the array, 1 for no axes.
  [[nodiscard]] Index size() const { return size_; }
  [[nodiscard]] const std::vector<Axis>& axes() const { return axes_; }
  /// @throws Error kArgument for an axis that is not there, as all questions about an axis.
  [[nodiscard]] const Axis& axis(int axis) const;
  [[nodiscard]] const ProcessGrid& grid() const { return grid_; }

  [[nodiscard]] bool is_member(int rank) const { return grid_.contains(rank); }
  /// The part of an axis's map that a process has. @throws Error kArgument for a process outside of
  /// the grid.
  [[nodiscard]] int part(int rank, int axis) const;
  /// The parts of all axes. @throws as part().
  [[nodiscard]] std::vector<int> parts(int rank) const;
  /// The owned extent of each axis; all 0 for a process outside of the grid. Of an array with no
  /// axes only owned_size() tells the two apart.
  [[nodiscard]] std::vector<Index> owned_shape(int rank) const;
  /// Owned elements, 0 for a process outside of the grid.
  [[nodiscard]] Index owned_size(int rank) const;
  /// The extents of the local buffer: owned part and ghosts; all 0 for a process outside of the
  /// grid.
  [[nodiscard]] std::vector<Index> local_shape(int rank) const;
  [[nodiscard]] Index local_size(int rank) const;
  /// Where the owned part begins in the local buffer: the lower ghosts. All 0 for a process outside
  /// of the grid.
  [[nodiscard]] std::vector<Index> owned_offset(int rank) const;
  /// The ghosts of a process along an axis.
  [[nodiscard]] Ghosts ghosts(int rank, int axis) const;
  [[nodiscard]] bool has_ghosts() const;

  /// Along a grid dimension of more than one process that no axis follows.
  [[nodiscard]] bool is_replicated() const { return replicas_ > 1; }
  /// How many processes hold each piece.
  [[nodiscard]] int replicas() const { return replicas_; }
  /// All processes with the same piece as this one, the primary copy first, in the order of their
  /// places in the grid.
  /// @throws Error kArgument for a process outside of the grid.
  [[nodiscard]] std::vector<int> copies(int rank) const;
  /// The primary copy of this process's piece. @throws as copies().
  [[nodiscard]] int primary(int rank) const;
  [[nodiscard]] bool is_primary(int rank) const { return is_member(rank) && primary(rank) == rank; }

  /// All processes that own the element at these global indices (or labels), in the order of their
  /// places in the grid: the first has the lowest parts and is a primary copy. @throws Error kKey
  /// with the axis for an index outside of it, kArgument for the wrong number.
  [[nodiscard]] std::vector<int> owners(std::span<const Index> global) const;
  /// The first of them. @throws as owners().
  [[nodiscard]] int owner(std::span<const Index> global) const;
  /// Local indices in the owned part, or nothing if the process does not own the element. @throws
  /// as owners().
  [[nodiscard]] std::optional<std::vector<Index>> to_local(int rank,
                                                           std::span<const Index> global) const;
  /// Global indices of an owned element. @throws Error kKey with the axis for an index outside of
  /// the owned part.
  [[nodiscard]] std::vector<Index> to_global(int rank, std::span<const Index> local) const;

  /// Whether every process owns the same elements in the same order in both, whatever the maps are
  /// called. Ghosts do not count.
  [[nodiscard]] bool same_pieces(const Distribution& other) const;
  /// The same grid, axes and ghosts.
  bool operator==(const Distribution& other) const;
  /// Equal for equal distributions, and the same on all machines.
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
