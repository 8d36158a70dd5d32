// SPDX-License-Identifier: Apache-2.0
/// A window that spans systems, and the one-sided communication of this process.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "shim/handle/handle_table.hpp"
#include "shim/job/job.hpp"
#include "shim/rma/outstanding_requests.hpp"
#include "shim/rma/vendor_channel.hpp"
#include "shim/values/access_epochs.hpp"
#include "wire/base/mutex.hpp"
#include "wire/window/engine_channel.hpp"
#include "wire/window/window_memory.hpp"
#include "wire/window/window_service.hpp"
#include "wire/window/window_target.hpp"

namespace impishim::shim {

/// The memory that a process gives to a window. Its fields are the values of the attributes that
/// tell of it.
struct WindowShape {
  void* base = nullptr;
  MPI_Aint size = 0;
  int unit = 1;
  int flavor = MPI_WIN_FLAVOR_CREATE;
  /// False if the vendor cannot make a window of this memory: Open MPI 4.1.4 cannot where a process
  /// is alone, as Debian sets it up. The handle is then a window without memory.
  bool native = true;
  /// The hint impishim_accumulate=vendor: accumulates inside this system are the vendor's.
  bool vendor_accumulates = false;
};

/// A window whose members are in two or more systems.
///
/// The user's handle is a vendor's window of the local members, in an epoch of MPI_Win_lock_all
/// from its creation to its end: puts and gets inside this system are the vendor's. All else is a
/// request to the target (docs/one-sided.md).
struct Window {
  Window(MPI_Win handle_, Communicator& communicator_, const WindowShape& shape_)
      : handle(handle_),
        communicator(communicator_),
        shape(shape_),
        target(shape.flavor == MPI_WIN_FLAVOR_DYNAMIC
                   ? wire::WindowMemory::dynamic()
                   : wire::WindowMemory::fixed(static_cast<std::byte*>(shape.base),
                                               static_cast<std::uint64_t>(shape.size), shape.unit)),
        outstanding(communicator_.members.size()),
        posts_used(communicator_.members.size()),
        completes_used(communicator_.members.size()) {}

  const MPI_Win handle;
  Communicator& communicator;  ///< of the members; no program knows it
  const WindowShape shape;
  wire::WindowTarget target;  ///< this process's memory
  std::atomic<bool> freed{false};
  /// The program's hint, which MPI_Win_get_info tells. The vendor's window has another value.
  std::atomic<bool> no_locks{false};
  std::atomic<std::uint32_t> idle_flushes{0};  ///< those that had nothing to wait for

  Mutex mutex;
  AccessEpochs epochs IMPISHIM_GUARDED_BY(mutex);
  OutstandingRequests outstanding IMPISHIM_GUARDED_BY(mutex);
  /// Requests for locks that were not granted yet, when last seen.
  std::map<std::int32_t, std::shared_ptr<AskedRequest>> locking IMPISHIM_GUARDED_BY(mutex);
  /// How many posts and completes of each member belong to epochs of the past.
  std::vector<std::uint64_t> posts_used IMPISHIM_GUARDED_BY(mutex);
  std::vector<std::uint64_t> completes_used IMPISHIM_GUARDED_BY(mutex);

  /// Returns the window's number in the job.
  [[nodiscard]] wire::WindowId id() const { return communicator.context; }
  [[nodiscard]] bool is_local(std::int32_t rank) const {
    return communicator.local_rank(rank) >= 0;
  }
};

/// The windows of this process, and what serves them. Made with the first window that spans
/// systems.
class OneSided {
 public:
  explicit OneSided(Job& job);
  OneSided(const OneSided&) = delete;
  OneSided& operator=(const OneSided&) = delete;
  ~OneSided();

  [[nodiscard]] wire::WindowService& service() { return service_; }
  /// Returns the window of a handle, or null if it is native or invalid. Takes no lock.
  [[nodiscard]] Window* find(MPI_Win handle) const { return by_handle_.find(handle); }
  /// Serves a window from now on.
  Window& add(std::unique_ptr<Window> window);
  /// Makes the handle native, and reverts that. To be called before the vendor frees the handle,
  /// which it may use again.
  void hide(Window& window) { by_handle_.erase(window.handle); }
  void show(Window& window) { by_handle_.insert(window.handle, window); }
  /// Ends the service of a window. No request may be under way.
  void end_service(Window& window) { service_.remove(window.id()); }
  /// Returns a reference that keeps a window in place after the program has freed it.
  [[nodiscard]] std::shared_ptr<Window> share(const Window& window);
  /// Forgets a window that has been freed.
  void drop(const Window& window);

 private:
  Job& job_;
  wire::EngineChannel remote_;
  VendorChannel local_;
  wire::WindowService service_;
  HandleTable<MPI_Win, Window> by_handle_;
  Mutex mutex_;
  std::vector<std::shared_ptr<Window>> windows_ IMPISHIM_GUARDED_BY(mutex_);
};

/// Returns the one-sided communication of this process; makes it if need be.
[[nodiscard]] OneSided& one_sided(Job& job);

/// Returns the window of a handle, or null if it is native or invalid. The vendor reports invalid
/// ones.
[[nodiscard]] inline Window* spanning_window(const Job& job, MPI_Win handle) {
  const OneSided* made = job.one_sided.load(std::memory_order_acquire);
  return made == nullptr ? nullptr : made->find(handle);
}

}  // namespace impishim::shim
