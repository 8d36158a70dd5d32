// SPDX-License-Identifier: Apache-2.0
/// The ranks of MPI_COMM_WORLD that are inside this system, for the fast paths of fast_path.hpp.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "shim/job/communicator.hpp"

namespace impishim::shim {

/// The ranks of MPI_COMM_WORLD whose processes are in this system, provided that they are
/// consecutive and in the vendor's order. Empty otherwise. Also empty before the world has been
/// joined, and where MPI_COMM_WORLD stays native.
class RanksInside {
 public:
  constexpr RanksInside() = default;
  /// Derives the ranks from the description of MPI_COMM_WORLD. `keeps_sources`:
  /// Job::receive_sources may be used.
  RanksInside(const Communicator& world, bool keeps_sources) {
    if (!stand_side_by_side(world)) return;
    first_ = static_cast<std::uint32_t>(world.spanning_ranks.front());
    count_ = static_cast<std::uint32_t>(world.spanning_ranks.size());
    received_ = !renames_sources() || keeps_sources ? count_ : 0;
  }
  RanksInside(const RanksInside& other) { *this = other; }
  RanksInside& operator=(const RanksInside& other) {
    first_ = other.first_;
    count_ = other.count_;
    received_ = other.received_.load();
    return *this;
  }
  /// From now on, no nonblocking receive is to be the vendor's request. Other threads may receive
  /// meanwhile.
  void keep_receives() { received_ = 0; }

  /// Returns true if `rank` of `comm` is known here to be inside.
  [[nodiscard]] bool has(MPI_Comm comm, int rank) const {
    return index(rank) < count_ && comm == MPI_COMM_WORLD;
  }
  /// Returns true if in addition a nonblocking receive from `rank` can be the vendor's request.
  [[nodiscard]] bool has_source(MPI_Comm comm, int rank) const {
    return index(rank) < received_.load(std::memory_order_relaxed) && comm == MPI_COMM_WORLD;
  }
  /// Returns the vendor's rank of a process that is inside.
  [[nodiscard]] int local_rank(int rank) const { return static_cast<int>(index(rank)); }
  /// Returns the difference between the user's ranks of these processes and the vendor's.
  [[nodiscard]] std::int32_t offset() const { return static_cast<std::int32_t>(first_); }
  /// Returns true if the sources in the vendor's statuses differ from the user's ranks.
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
  std::atomic<std::uint32_t> received_ = 0;
};

}  // namespace impishim::shim
