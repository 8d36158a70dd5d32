// SPDX-License-Identifier: Apache-2.0
#include "wire/window/lock_queue.hpp"

#include <vector>

#include "wire/topology/job_map.hpp"

namespace impishim::wire {

std::vector<WorldRank> LockQueue::request(WorldRank origin, LockKind kind) {
  waiting_.push_back({origin, kind});
  return grant();
}

std::vector<WorldRank> LockQueue::release(WorldRank origin) {
  if (holders_.erase(origin) == 0)
    std::erase_if(waiting_, [origin](const Request& each) { return each.origin == origin; });
  if (holders_.empty()) exclusive_ = false;
  return grant();
}

/// Grants the requests at the head of the queue, as far as they may hold the lock together.
std::vector<WorldRank> LockQueue::grant() {
  std::vector<WorldRank> granted;
  while (!waiting_.empty()) {
    const Request next = waiting_.front();
    const bool alone = next.kind == LockKind::kExclusive;
    if (exclusive_ || (alone && !holders_.empty())) break;
    waiting_.pop_front();
    holders_.insert(next.origin);
    exclusive_ = alone;
    granted.push_back(next.origin);
  }
  return granted;
}

}  // namespace impishim::wire
