// SPDX-License-Identifier: Apache-2.0
// Passive target synchronisation: locks and flushes (MPI-4.0 12.5.3, 12.5.4).
#include <mpi.h>

#include <cstdint>
#include <vector>

#include "shim/completion/wait.hpp"
#include "shim/entry_points.hpp"
#include "shim/job/job.hpp"
#include "shim/native.hpp"
#include "shim/rma/outstanding_requests.hpp"
#include "shim/rma/synchronisation.hpp"
#include "shim/rma/window.hpp"
#include "shim/rma/window_error.hpp"
#include "shim/values/access_epochs.hpp"
#include "shim/vendor.hpp"
#include "wire/base/mutex.hpp"
#include "wire/window/window_request.hpp"

namespace impishim::shim {
namespace {

constexpr std::int32_t kAll = OutstandingRequests::kAllTargets;

WindowLock checked(WindowLock lock, int assertion) {
  return (assertion & MPI_MODE_NOCHECK) != 0 ? WindowLock::kUnchecked : lock;
}

/// Takes the lock of this process's own memory, which the program may access at once.
void lock_own(Job& job, Window& window) { acquire_lock(job, window, window.communicator.rank); }

int lock(Job& job, Window& window, int lock_type, int rank, int assertion) {
  constexpr const char* kFunction = "MPI_Win_lock";
  if (rank == MPI_PROC_NULL) return MPI_SUCCESS;
  if (const int code = check_target(window, rank, kFunction); code != MPI_SUCCESS) return code;
  if (lock_type != MPI_LOCK_SHARED && lock_type != MPI_LOCK_EXCLUSIVE) {
    return raise_on_window(window.handle, MPI_ERR_LOCKTYPE, kFunction,
                           "the type is neither MPI_LOCK_SHARED nor MPI_LOCK_EXCLUSIVE");
  }
  const char* mistake = nullptr;
  {
    const MutexLock lock(window.mutex);
    mistake = window.epochs.lock(
        rank,
        checked(lock_type == MPI_LOCK_EXCLUSIVE ? WindowLock::kExclusive : WindowLock::kShared,
                assertion));
  }
  if (mistake != nullptr) return raise_mistake(window, mistake, kFunction);
  if (rank == window.communicator.rank) lock_own(job, window);
  return MPI_SUCCESS;
}

int lock_all(Job& job, Window& window, int assertion) {
  const char* mistake = nullptr;
  {
    const MutexLock lock(window.mutex);
    mistake = window.epochs.lock_all(checked(WindowLock::kShared, assertion));
  }
  if (mistake != nullptr) return raise_mistake(window, mistake, "MPI_Win_lock_all");
  lock_own(job, window);
  return MPI_SUCCESS;
}

/// Asks targets to release their locks, which completes all requests before.
void release_locks(Job& job, Window& window, const std::vector<std::int32_t>& targets)
    IMPISHIM_REQUIRES(window.mutex) {
  for (const std::int32_t target : targets) {
    static_cast<void>(ask_target(job, window, target, wire::WindowRequestKind::kUnlock));
    window.outstanding.set_flushed(target);
    window.locking.erase(target);
  }
}

int unlock(Job& job, Window& window, std::int32_t target, const char* function) {
  if (const int code = flush_vendor(window, target); code != MPI_SUCCESS) return code;
  const char* mistake = nullptr;
  {
    const MutexLock lock(window.mutex);
    const std::vector<std::int32_t> requested = window.epochs.requested(target);
    mistake = target == kAll ? window.epochs.unlock_all() : window.epochs.unlock(target);
    if (mistake == nullptr) release_locks(job, window, requested);
  }
  if (mistake != nullptr) return raise_mistake(window, mistake, function);
  // Targets of which no lock was needed.
  const int code = flush(job, window, target, function);
  return code == MPI_SUCCESS ? vendor::Win_sync(window.handle) : code;
}

/// Completes requests at this process only: its memory may change, and what it asked for is here.
int flush_here(Job& job, Window& window, std::int32_t target, const char* function) {
  const int code = flush_vendor_here(window, target);
  settle(job, window, target);
  const int raised = raise_errors(job, window, function);
  return code == MPI_SUCCESS ? raised : code;
}

/// One of MPI's kinds of flush.
struct FlushKind {
  int (*flush)(Job&, Window&, std::int32_t target, const char* function);
  int (*vendor_flush)(int, MPI_Win);  ///< the vendor's, of one target
  bool at_target;                     ///< not only at this process
};

constexpr FlushKind kFlush{flush, vendor::Win_flush, true};
constexpr FlushKind kFlushHere{flush_here, vendor::Win_flush_local, false};

/// Flushes if a passive-target epoch is open.
int flush_in_epoch(Job& job, Window& window, std::int32_t target, const char* function,
                   const FlushKind& kind) {
  bool passive = false;
  bool quiet = false;
  bool in_vendor = false;
  {
    const MutexLock lock(window.mutex);
    passive = window.epochs.is_passive(target);
    quiet = passive && target >= 0 && window.outstanding.is_quiet(target);
    in_vendor = quiet && window.outstanding.in_vendor(target);
    if (in_vendor && kind.at_target) window.outstanding.set_vendor_flushed(target);
  }
  if (!passive)
    return raise_mistake(window, "no epoch of MPI_Win_lock or MPI_Win_lock_all is open", function);
  return quiet ? end_quiet_flush(job, window, target, in_vendor, kind.vendor_flush, function)
               : kind.flush(job, window, target, function);
}

int flush_one(Job& job, Window& window, int rank, const char* function, const FlushKind& kind) {
  if (rank == MPI_PROC_NULL) return MPI_SUCCESS;
  const int code = check_target(window, rank, function);
  return code == MPI_SUCCESS ? flush_in_epoch(job, window, rank, function, kind) : code;
}

}  // namespace

namespace calls {

int Win_lock(Job& job, int lock_type, int rank, int assertion, MPI_Win win) {
  Window* window = spanning_window(job, win);
  return window == nullptr ? native::Win_lock(job, lock_type, rank, assertion, win)
                           : lock(job, *window, lock_type, rank, assertion);
}

int Win_unlock(Job& job, int rank, MPI_Win win) {
  Window* window = spanning_window(job, win);
  if (window == nullptr) return native::Win_unlock(job, rank, win);
  if (rank == MPI_PROC_NULL) return MPI_SUCCESS;
  if (const int code = check_target(*window, rank, "MPI_Win_unlock"); code != MPI_SUCCESS)
    return code;
  return unlock(job, *window, rank, "MPI_Win_unlock");
}

int Win_lock_all(Job& job, int assertion, MPI_Win win) {
  Window* window = spanning_window(job, win);
  return window == nullptr ? native::Win_lock_all(job, assertion, win)
                           : lock_all(job, *window, assertion);
}

int Win_unlock_all(Job& job, MPI_Win win) {
  Window* window = spanning_window(job, win);
  return window == nullptr ? native::Win_unlock_all(job, win)
                           : unlock(job, *window, kAll, "MPI_Win_unlock_all");
}

int Win_flush(Job& job, int rank, MPI_Win win) {
  Window* window = spanning_window(job, win);
  return window == nullptr ? native::Win_flush(job, rank, win)
                           : flush_one(job, *window, rank, "MPI_Win_flush", kFlush);
}

int Win_flush_all(Job& job, MPI_Win win) {
  Window* window = spanning_window(job, win);
  return window == nullptr ? native::Win_flush_all(job, win)
                           : flush_in_epoch(job, *window, kAll, "MPI_Win_flush_all", kFlush);
}

int Win_flush_local(Job& job, int rank, MPI_Win win) {
  Window* window = spanning_window(job, win);
  return window == nullptr ? native::Win_flush_local(job, rank, win)
                           : flush_one(job, *window, rank, "MPI_Win_flush_local", kFlushHere);
}

int Win_flush_local_all(Job& job, MPI_Win win) {
  Window* window = spanning_window(job, win);
  return window == nullptr
             ? native::Win_flush_local_all(job, win)
             : flush_in_epoch(job, *window, kAll, "MPI_Win_flush_local_all", kFlushHere);
}

int Win_sync(Job& job, MPI_Win win) {
  // A program may wait in a loop of these calls for what others do to its memory.
  if (spanning_window(job, win) != nullptr) progress_once(job, true);
  return vendor::Win_sync(win);
}

}  // namespace calls
}  // namespace impishim::shim
