// SPDX-License-Identifier: Apache-2.0
/// Which ranks of MPI_COMM_WORLD are inside this system, for the short ways of inside.hpp.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>

#include "shim/job/communicator.hpp"

namespace impishim::shim {

/// The ranks of MPI_COMM_WORLD whose processes are in this system, where they stand side by side as
/// those of the vendor's do. Empty: before the world has been joined, where MPI_COMM_WORLD stays
/// the vendor's, and should they stand otherwise.
class RanksInside {
 public:
  constexpr RanksInside() = default;
  /// Of the description of MPI_COMM_WORLD. `keeps_sources`: Job::receive_sources may be used.
  RanksInside(const Communicator& world, bool keeps_sources) {
    if (!stand_side_by_side(world)) return;
    first_ = static_cast<std::uint32_t>(world.spanning_ranks.front());
    count_ = static_cast<std::uint32_t>(world.spanning_ranks.size());
    received_ = !renames_sources() || keeps_sources ? count_ : 0;
  }

  /// `rank` of `comm` is known here to be inside.
  [[nodiscard]] bool has(MPI_Comm comm, int rank) const {
    return index(rank) < count_ && comm == MPI_COMM_WORLD;
  }
  /// The same, and a nonblocking receive from it can be the vendor's request.
  [[nodiscard]] bool has_source(MPI_Comm comm, int rank) const {
    return index(rank) < received_ && comm == MPI_COMM_WORLD;
  }
  /// The vendor's rank of a process that is.
  [[nodiscard]] int local_rank(int rank) const { return static_cast<int>(index(rank)); }
  /// How far the user's ranks of them are from the vendor's.
  [[nodiscard]] std::int32_t offset() const { return static_cast<std::int32_t>(first_); }
  /// The vendor's statuses name other sources than the user knows.
  [[nodiscard]] bool renames_sources() const { return first_ != 0; }

 private:
  [[nodiscard]] static bool stand_side_by_side(const Communicator& world) {
    const auto& ranks = world.spanning_ranks;
    for (std::size_t i = 1; i < ranks.size(); ++i) {
      if (ranks[i] != ranks[0] + static_cast<std::int32_t>(i)) return false;
    }
    return !ranks.empty();
  }
  [[nodiscard]] std::uint32_t index(int rank) const {
    return static_cast<std::uint32_t>(rank) - first_;
  }

  std::uint32_t first_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t received_ = 0;
};

}  // namespace impishim::shim
