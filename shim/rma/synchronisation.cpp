// SPDX-License-Identifier: Apache-2.0
#include "shim/rma/synchronisation.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "shim/coll/collective_arguments.hpp"
#include "shim/coll/collective_queue.hpp"
#include "shim/completion/wait.hpp"
#include "shim/error/errors.hpp"
#include "shim/job/job.hpp"
#include "shim/rma/outstanding_requests.hpp"
#include "shim/rma/window.hpp"
#include "shim/rma/window_error.hpp"
#include "shim/values/access_epochs.hpp"
#include "shim/vendor.hpp"
#include "wire/base/mutex.hpp"
#include "wire/window/window_request.hpp"
#include "wire/window/window_service.hpp"

namespace impishim::shim {

std::shared_ptr<AskedRequest> ask_target(Job& job, Window& window, std::int32_t target,
                                         wire::WindowRequestKind kind, bool exclusive) {
  wire::WindowRequest request;
  request.kind = kind;
  request.window = window.id();
  request.exclusive = exclusive;
  auto asked = std::make_shared<AskedRequest>();
  asked->target = target;
  // A request without data cannot fail.
  static_cast<void>(one_sided(job).service().ask(window.communicator.world_rank(target), request,
                                                 {}, {}, asked->answer));
  window.outstanding.add(asked);
  return asked;
}

void acquire_lock(Job& job, Window& window, std::int32_t target) {
  std::shared_ptr<AskedRequest> asked;
  {
    const MutexLock lock(window.mutex);
    if (const auto due = window.epochs.take_due_lock(target)) {
      window.locking[target] = ask_target(job, window, target, wire::WindowRequestKind::kLock,
                                          *due == WindowLock::kExclusive);
    }
    if (window.locking.empty() || !window.is_local(target)) return;
    const auto found = window.locking.find(target);
    if (found == window.locking.end()) return;
    asked = found->second;
  }
  drive_until(job, true, [&] { return asked->answer.complete(); });
  const MutexLock lock(window.mutex);
  window.locking.erase(target);
}

namespace {

/// Polls in some of the calls that have nothing to wait for: a program may spin in them until
/// another process has changed this one's memory.
void poll_between_idle_flushes(Job& job, Window& window) {
  constexpr std::uint32_t kIdleFlushesPerPoll = 64;
  if (window.idle_flushes.fetch_add(1, std::memory_order_relaxed) % kIdleFlushesPerPoll == 0)
    progress_once(job, true);
}

}  // namespace

void settle(Job& job, Window& window, std::int32_t target) {
  wire::WindowService& service = one_sided(job).service();
  const auto is_settled = [&] {
    const MutexLock lock(window.mutex);
    return window.outstanding.settle(service, target);
  };
  if (!is_settled()) return drive_until(job, true, is_settled);
  poll_between_idle_flushes(job, window);
}

int raise_errors(Job& job, Window& window, const char* function) {
  wire::WindowStatus status = wire::WindowStatus::kDone;
  {
    const MutexLock lock(window.mutex);
    status = window.outstanding.take_error();
  }
  if (status == wire::WindowStatus::kDone)
    status = one_sided(job).service().take_error(window.id());
  return raise_status(window.handle, status, function);
}

namespace {

/// Calls `vendor_flush` for a target if the vendor has been asked to access it.
int flush_one(Window& window, std::int32_t target, int (*vendor_flush)(int, MPI_Win), bool there) {
  {
    const MutexLock lock(window.mutex);
    if (!window.outstanding.in_vendor(target)) return MPI_SUCCESS;
    if (there) window.outstanding.set_vendor_flushed(target);
  }
  return vendor_flush(window.communicator.local_rank(target), window.handle);
}

/// Does so for one target or for all. MPICH 4.0.2 returns from MPI_Win_flush_all and
/// MPI_Win_flush_local_all while long puts are on their way, so each target is flushed by itself.
int flush_each(Window& window, std::int32_t target, int (*vendor_flush)(int, MPI_Win), bool there) {
  if (target != OutstandingRequests::kAllTargets)
    return flush_one(window, target, vendor_flush, there);
  std::vector<std::int32_t> used;
  {
    const MutexLock lock(window.mutex);
    used = window.outstanding.all_in_vendor();
  }
  int first = MPI_SUCCESS;
  for (const std::int32_t each : used) {
    const int code = flush_one(window, each, vendor_flush, there);
    if (first == MPI_SUCCESS) first = code;
  }
  return first;
}

/// Asks a target to tell when it has applied what was sent to it.
void ask_for_flush(Job& job, Window& window, std::int32_t target) IMPISHIM_REQUIRES(window.mutex) {
  static_cast<void>(ask_target(job, window, target, wire::WindowRequestKind::kFlush));
  window.outstanding.set_flushed(target);
}

}  // namespace

int flush_vendor(Window& window, std::int32_t target) {
  return flush_each(window, target, vendor::Win_flush, true);
}

int flush_vendor_here(Window& window, std::int32_t target) {
  return flush_each(window, target, vendor::Win_flush_local, false);
}

int flush(Job& job, Window& window, std::int32_t target, const char* function) {
  {
    const MutexLock lock(window.mutex);
    if (target == OutstandingRequests::kAllTargets) {
      for (const std::int32_t each : window.outstanding.all_unflushed())
        ask_for_flush(job, window, each);
    } else if (window.outstanding.unflushed(target)) {
      ask_for_flush(job, window, target);
    }
  }
  const int code = flush_vendor(window, target);
  settle(job, window, target);
  const int raised = raise_errors(job, window, function);
  return code == MPI_SUCCESS ? raised : code;
}

int end_quiet_flush(Job& job, Window& window, std::int32_t target, bool in_vendor,
                    int (*vendor_flush)(int, MPI_Win), const char* function) {
  const int code =
      in_vendor ? vendor_flush(window.communicator.local_rank(target), window.handle) : MPI_SUCCESS;
  poll_between_idle_flushes(job, window);
  const int raised =
      raise_status(window.handle, one_sided(job).service().take_error(window.id()), function);
  return code == MPI_SUCCESS ? raised : code;
}

int finish_window(Job& job, Window& window, const char* function) {
  {
    const MutexLock lock(window.mutex);
    if (!window.epochs.idle())
      return raise_mistake(window, "an epoch is open: end it before", function);
  }
  int code = flush(job, window, OutstandingRequests::kAllTargets, function);
  if (code != MPI_SUCCESS) return code;
  code = run_collective(job, window.communicator, function, collective_arguments::Barrier);
  if (code == MPI_SUCCESS) return code;
  return raise_on_window(window.handle, vendor_error_class(code), function,
                         "the members cannot meet");
}

int check_target(const Window& window, std::int32_t target, const char* function) {
  if (window.communicator.valid_rank(target)) return MPI_SUCCESS;
  return raise_on_window(
      window.handle, MPI_ERR_RANK, function,
      fmt::format("rank {} in a window of {} processes", target, window.communicator.size()));
}

int raise_mistake(const Window& window, const char* mistake, const char* function) {
  if (mistake == nullptr) return MPI_SUCCESS;
  return raise_on_window(window.handle, MPI_ERR_RMA_SYNC, function, mistake);
}

}  // namespace impishim::shim
