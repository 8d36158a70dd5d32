// SPDX-License-Identifier: Apache-2.0
#include "wire/topology/current_map.hpp"

#include <atomic>
#include <memory>
#include <utility>

#include "wire/base/mutex.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {

CurrentMap& CurrentMap::operator=(CurrentMap&& other) noexcept {
  const MutexLock lock(mutex_);
  const MutexLock theirs(other.mutex_);
  std::swap(all_, other.all_);
  std::swap(first_, other.first_);
  now_.store(other.now_.exchange(now_.load(std::memory_order_relaxed), std::memory_order_relaxed),
             std::memory_order_release);
  return *this;
}

void CurrentMap::replace(JobMap map) {
  auto kept = std::make_unique<const JobMap>(std::move(map));
  const MutexLock lock(mutex_);
  now_.store(kept.get(), std::memory_order_release);
  all_.push_back(std::move(kept));
  if (first_ == nullptr) first_ = all_.front().get();
}

}  // namespace impishim::wire
