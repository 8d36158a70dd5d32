// SPDX-License-Identifier: Apache-2.0
/// The lock of one process's window (MPI-4.0 12.5.3): shared or exclusive, granted in the order of
/// requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>
#include <vector>

#include "wire/topology/job_map.hpp"

namespace impishim::wire {

enum class LockKind : std::uint8_t { kShared = 0, kExclusive = 1 };

/// Grants the lock to one origin, or to several that share it. A shared request does not overtake
/// an exclusive one that waits, so no request waits for ever.
class LockQueue {
 public:
  /// Requests the lock. Returns the origins that hold it from now on: `origin`, or none if it
  /// waits. An origin has at most one request.
  [[nodiscard]] std::vector<WorldRank> request(WorldRank origin, LockKind kind);
  /// Releases the lock, or withdraws a request. Returns the origins that hold it from now on.
  [[nodiscard]] std::vector<WorldRank> release(WorldRank origin);
  /// Returns true if the origin holds the lock.
  [[nodiscard]] bool holds(WorldRank origin) const { return holders_.count(origin) != 0; }
  [[nodiscard]] bool idle() const { return holders_.empty() && waiting_.empty(); }

 private:
  struct Request {
    WorldRank origin;
    LockKind kind;
  };
  [[nodiscard]] std::vector<WorldRank> grant();

  std::set<WorldRank> holders_;
  bool exclusive_ = false;  ///< the only holder excludes all others
  std::deque<Request> waiting_;
};

}  // namespace impishim::wire
