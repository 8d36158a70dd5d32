// SPDX-License-Identifier: Apache-2.0
// The requests of this process: the free ones, and those that the user has freed while they were
// active.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "shim/request/request.hpp"
#include "shim/vendor.hpp"
#include "wire/base/mutex.hpp"

namespace impishim::shim {
namespace {

/// all_over() asks for it while other threads take and release requests of other communicators.
std::atomic_ref<Communicator*> owner_of(Request& request) {
  return std::atomic_ref(request.communicator);
}

/// Holds `flag` if no other thread does, nor this one further up.
class TryHold {
 public:
  explicit TryHold(std::atomic<bool>& flag)
      : flag_(flag), held_(!flag.exchange(true, std::memory_order_acquire)) {}
  ~TryHold() {
    if (held_) flag_.store(false, std::memory_order_release);
  }
  TryHold(const TryHold&) = delete;
  TryHold& operator=(const TryHold&) = delete;
  [[nodiscard]] bool held() const { return held_; }

 private:
  std::atomic<bool>& flag_;
  const bool held_;
};

}  // namespace

void RequestPool::add_block() {
  blocks_[block_count_] = std::make_unique<Block>();
  const auto first = static_cast<std::uint32_t>(block_count_ * kBlock);
  for (std::uint32_t i = kBlock; i-- > 0;) {
    blocks_[block_count_]->at(i)->index = first + i;
    free_->indices.push_back(first + i);
  }
  ++block_count_;
}

/// Free requests that this thread takes and gives back without the lock: a program with many
/// requests in flight starts and completes them in windows.
class RequestPool::ThreadShare {
 public:
  /// Returns this thread's share of the free requests of `pool`.
  static ThreadShare& of(RequestPool& pool) {
    static thread_local ThreadShare share;
    if (share.free_ != pool.free_) share.change_to(pool);
    return share;
  }
  [[nodiscard]] std::uint32_t take(RequestPool& pool) {
    if (count_ == 0) count_ = pool.take_free(std::span(indices_).first(kMoved));
    return indices_[--count_];
  }
  void put(std::uint32_t index) {
    if (count_ == indices_.size()) give_back(kMoved);
    indices_[count_++] = index;
  }
  ThreadShare(const ThreadShare&) = delete;
  ThreadShare& operator=(const ThreadShare&) = delete;
  ~ThreadShare() { give_back(count_); }

 private:
  ThreadShare() = default;
  [[gnu::cold]] void change_to(RequestPool& pool) {
    give_back(count_);
    free_ = pool.free_;
  }
  void give_back(std::size_t count) {
    if (count == 0) return;
    const auto first = indices_.begin() + static_cast<std::ptrdiff_t>(count_ - count);
    const MutexLock lock(free_->mutex);
    free_->indices.insert(free_->indices.end(), first,
                          indices_.begin() + static_cast<std::ptrdiff_t>(count_));
    count_ -= count;
  }
  static constexpr std::size_t kMoved = 64;  ///< requests moved at once, to and from the pool
  std::shared_ptr<FreeRequests> free_;       ///< threads may end after the pool
  std::array<std::uint32_t, 2 * kMoved> indices_{};
  std::size_t count_ = 0;
};

std::size_t RequestPool::take_free(std::span<std::uint32_t> indices) {
  const MutexLock lock(free_->mutex);
  auto& free = free_->indices;
  if (free.empty()) add_block();
  const std::size_t count = std::min(indices.size(), free.size());
  std::copy_n(free.end() - static_cast<std::ptrdiff_t>(count), count, indices.begin());
  free.resize(free.size() - count);
  return count;
}

Request& RequestPool::acquire(Communicator* communicator, const char* function) {
  const std::uint32_t index = ThreadShare::of(*this).take(*this);
  Request& request = *blocks_[index / kBlock]->at(index % kBlock);
  owner_of(request).store(communicator, std::memory_order_relaxed);
  request.function = function;
  request.persistent = false;
  request.active = false;
  request.failure_pending = false;
  request.vendor.request = MPI_REQUEST_NULL;
  if (communicator != nullptr) communicator->pending.fetch_add(1, std::memory_order_relaxed);
  return request;
}

void RequestPool::release(Request& request) {
  if (request.vendor.persistent != MPI_REQUEST_NULL)
    vendor::Request_free(&request.vendor.persistent);
  if (request.arguments.owns_datatype) vendor::Type_free(&request.arguments.datatype);
  request.arguments.owns_datatype = false;
  request.send.buffer.keep_alive.reset();
  request.receive.buffer.keep_alive.reset();
  request.part.reset();
  if (request.communicator != nullptr)
    request.communicator->pending.fetch_sub(1, std::memory_order_release);
  owner_of(request).store(nullptr, std::memory_order_relaxed);
  if (unsettled_count_.load(std::memory_order_relaxed) != 0) forget_unsettled(request);
  ThreadShare::of(*this).put(request.index);
}

void RequestPool::forget_unsettled(const Request& request) {
  const MutexLock lock(mutex_);
  unsettled_.erase(std::remove(unsettled_.begin(), unsettled_.end(), &request), unsettled_.end());
  unsettled_count_.store(unsettled_.size(), std::memory_order_relaxed);
}

void RequestPool::remember_unsettled(Request& request) {
  const MutexLock lock(mutex_);
  unsettled_.push_back(&request);
  unsettled_count_.store(unsettled_.size(), std::memory_order_relaxed);
}

void RequestPool::orphan(Request& request) {
  const MutexLock lock(mutex_);
  orphans_.push_back(&request);
  orphan_count_.store(orphans_.size(), std::memory_order_relaxed);
}

void RequestPool::reap_orphans(Job& job) {
  if (orphan_count_.load(std::memory_order_relaxed) == 0) return;
  const TryHold reaping(reaping_);
  if (!reaping.held()) return;
  std::vector<Request*> candidates;
  {
    const MutexLock lock(mutex_);
    candidates.swap(orphans_);
  }
  for (Request* request : candidates) {
    if (test_request(job, *request)) {
      release(*request);
    } else {
      orphan(*request);
    }
  }
  const MutexLock lock(mutex_);
  orphan_count_.store(orphans_.size(), std::memory_order_relaxed);
}

bool RequestPool::all_over(Job& job, const Communicator& communicator, std::size_t& first) {
  if (communicator.pending.load(std::memory_order_acquire) == 0) return true;
  const TryHold reaping(reaping_);
  if (!reaping.held()) return false;
  std::size_t end = 0;
  {
    const std::lock_guard lock(free_->mutex);
    end = block_count_ * kBlock;
  }
  for (; first < end; ++first) {
    Request& request = *blocks_[first / kBlock]->at(first % kBlock);
    if (owner_of(request).load(std::memory_order_relaxed) == &communicator &&
        !test_request(job, request))
      return false;
  }
  return true;
}

}  // namespace impishim::shim
