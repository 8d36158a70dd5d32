// SPDX-License-Identifier: Apache-2.0
#include "shim/values/access_epochs.hpp"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace impishim::shim {
namespace {

constexpr const char* kLocked =
    "an epoch of MPI_Win_lock or MPI_Win_lock_all is open: end it before";
constexpr const char* kStarted = "an epoch of MPI_Win_start is open: call MPI_Win_complete before";

}  // namespace

const char* AccessEpochs::fence(bool last) {
  if (is_passive(-1)) return kLocked;
  if (started_) return kStarted;
  if (posted_) return "an epoch of MPI_Win_post is open: call MPI_Win_wait before";
  fenced_ = !last;
  return nullptr;
}

const char* AccessEpochs::start(std::vector<std::int32_t> targets) {
  if (is_passive(-1)) return kLocked;
  if (started_) return kStarted;
  targets_ = {targets.begin(), targets.end()};
  started_ = std::move(targets);
  return nullptr;
}

const char* AccessEpochs::complete() {
  if (!started_) return "no epoch of MPI_Win_start is open";
  started_.reset();
  targets_.clear();
  return nullptr;
}

const char* AccessEpochs::post(std::vector<std::int32_t> origins) {
  if (posted_) return "an epoch of MPI_Win_post is open: call MPI_Win_wait before";
  posted_ = std::move(origins);
  return nullptr;
}

const char* AccessEpochs::wait() {
  if (!posted_) return "no epoch of MPI_Win_post is open";
  posted_.reset();
  return nullptr;
}

const char* AccessEpochs::lock(std::int32_t target, WindowLock lock) {
  if (started_) return kStarted;
  if (all_) return "an epoch of MPI_Win_lock_all is open: call MPI_Win_unlock_all before";
  if (!locks_.emplace(target, Held{lock, false}).second)
    return "this process holds a lock of the target: call MPI_Win_unlock before";
  return nullptr;
}

const char* AccessEpochs::unlock(std::int32_t target) {
  if (all_ || locks_.erase(target) == 0) return "no lock of the target was taken by MPI_Win_lock";
  return nullptr;
}

const char* AccessEpochs::lock_all(WindowLock lock) {
  if (started_) return kStarted;
  if (is_passive(-1)) return kLocked;
  all_ = lock;
  return nullptr;
}

const char* AccessEpochs::unlock_all() {
  if (!all_) return "no epoch of MPI_Win_lock_all is open";
  all_.reset();
  locks_.clear();
  return nullptr;
}

bool AccessEpochs::may_access(std::int32_t target) const {
  if (started_) return targets_.contains(target);
  return is_passive(target) || (!is_passive(-1) && fenced_);
}

bool AccessEpochs::is_passive(std::int32_t target) const {
  return all_.has_value() || (target < 0 ? !locks_.empty() : locks_.contains(target));
}

bool AccessEpochs::idle() const { return !started_ && !posted_ && !is_passive(-1); }

bool AccessEpochs::is_lock_due(std::int32_t target) const {
  if (!is_passive(target)) return false;
  const auto held = locks_.find(target);
  if (held == locks_.end()) return all_ != WindowLock::kUnchecked;
  return held->second.lock != WindowLock::kUnchecked && !held->second.requested;
}

std::optional<WindowLock> AccessEpochs::take_due_lock(std::int32_t target) {
  if (!is_passive(target)) return std::nullopt;
  Held& held =
      locks_.try_emplace(target, Held{all_.value_or(WindowLock::kShared), false}).first->second;
  if (held.lock == WindowLock::kUnchecked || std::exchange(held.requested, true))
    return std::nullopt;
  return held.lock;
}

std::vector<std::int32_t> AccessEpochs::requested(std::int32_t target) const {
  std::vector<std::int32_t> targets;
  for (const auto& [each, held] : locks_) {
    if (held.requested && (target < 0 || target == each)) targets.push_back(each);
  }
  return targets;
}

}  // namespace impishim::shim
