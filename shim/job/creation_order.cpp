// SPDX-License-Identifier: Apache-2.0
#include "shim/job/creation_order.hpp"
#include <cstdint>
#include <optional>

#include "wire/base/mutex.hpp"

namespace impishim::shim {

std::optional<std::uint64_t> CreationOrder::begin_duplication() {
  const MutexLock lock(mutex_);
  if (holders_ != 0) return std::nullopt;
  under_way_.insert(++begun_);
  return begun_;
}

void CreationOrder::end_duplication(std::uint64_t number) {
  const MutexLock lock(mutex_);
  under_way_.erase(number);
}

std::uint64_t CreationOrder::hold() {
  const MutexLock lock(mutex_);
  ++holders_;
  return latest_in_progress();
}

std::uint64_t CreationOrder::latest() {
  const MutexLock lock(mutex_);
  return latest_in_progress();
}

void CreationOrder::release() {
  const MutexLock lock(mutex_);
  --holders_;
}

bool CreationOrder::over(std::uint64_t number) {
  const MutexLock lock(mutex_);
  return under_way_.empty() || *under_way_.begin() > number;
}

}  // namespace impishim::shim
