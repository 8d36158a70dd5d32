// SPDX-License-Identifier: Apache-2.0
/// The datatypes and operations that collectives in progress still need. The user may free them as
/// soon as the call has returned (MPI-3.1 4.1.9, 5.9.5). Callbacks must receive the same handle.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <vector>

#include "wire/base/mutex.hpp"

namespace impishim::shim {

/// Counts uses of handles of one kind. Any thread.
template <class Handle>
class HandleUses {
 public:
  HandleUses() = default;
  HandleUses(const HandleUses&) = delete;
  HandleUses& operator=(const HandleUses&) = delete;

  void hold(Handle handle) {
    const MutexLock lock(mutex_);
    const auto found = find(handle);
    if (found != uses_.end()) {
      ++found->count;
    } else {
      uses_.push_back({handle, 1, false});
      size_.store(uses_.size(), std::memory_order_release);
    }
  }

  /// Ends one use. Frees the handle by `vendor_free` if the user has freed it and this was the last
  /// use.
  template <class Free>
  void release(Handle handle, Free&& vendor_free) {
    bool freed = false;
    {
      const MutexLock lock(mutex_);
      const auto found = find(handle);
      if (found == uses_.end() || --found->count > 0) return;
      freed = found->freed;
      uses_.erase(found);
      size_.store(uses_.size(), std::memory_order_release);
    }
    if (freed) vendor_free(&handle);
  }

  /// Handles a free request of the user. Returns true if the handle is in use and will be freed
  /// after the last use.
  [[nodiscard]] bool defer(Handle handle) {
    if (size_.load(std::memory_order_acquire) == 0) return false;
    const MutexLock lock(mutex_);
    const auto found = find(handle);
    if (found == uses_.end()) return false;
    found->freed = true;
    return true;
  }

 private:
  struct Use {
    Handle handle;
    std::size_t count;
    bool freed;
  };
  typename std::vector<Use>::iterator find(Handle handle) IMPISHIM_REQUIRES(mutex_) {
    return std::find_if(uses_.begin(), uses_.end(),
                        [&](const Use& use) { return use.handle == handle; });
  }

  Mutex mutex_;
  std::vector<Use> uses_ IMPISHIM_GUARDED_BY(mutex_);
  std::atomic<std::size_t> size_{0};
};

}  // namespace impishim::shim
