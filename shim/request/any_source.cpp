// SPDX-License-Identifier: Apache-2.0
#include "shim/request/any_source.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>

#include "shim/job/job.hpp"
#include "shim/request/engine_request.hpp"
#include "shim/request/request.hpp"
#include "shim/request/status.hpp"
#include "shim/request/vendor_request.hpp"
#include "shim/vendor.hpp"
#include "wire/base/mutex.hpp"
#include "wire/message/operation.hpp"

namespace impishim::shim {
namespace {

/// Completes a receive that was posted both at the vendor and in the engine.
void end_both(Job& job, Request& request) {
  job.needs_caller.fetch_sub(1, std::memory_order_relaxed);
  request.done.store(true, std::memory_order_release);
}

/// Makes progress on a receive that is posted both at the vendor and in the engine; returns true if
/// it is complete. `mutex` must be held.
bool step_both(Job& job, Request& request) {
  if (request.receive.complete()) {
    // The contest was settled for the engine, so the twin no longer exists, or the engine has
    // failed.
    end_both(job, request);
    return true;
  }
  if (request.vendor.request == MPI_REQUEST_NULL || !test_vendor_part(request)) return false;
  int cancelled = 0;
  vendor::Test_cancelled(&request.vendor.status, &cancelled);
  if (request.vendor.cancelling && cancelled != 0) {
    request.vendor.won = false;
    request.vendor.cancelling = false;
    // A message that contests the receive may have arrived before the user's cancel.
    if (request.user_cancelled) job.engine->cancel(request.receive);
    if (!request.receive.complete()) job.engine->settle(request.receive, false);
    // Matched: the rest of a long message is on its way.
    if (!request.receive.complete()) return false;
    end_both(job, request);
    return true;
  }
  // A native message has matched, whether the receive was contested or not.
  job.engine->withdraw(request.receive);
  end_both(job, request);
  return true;
}

/// Asks the vendor to cancel its part, if there is one and that was not asked before. `mutex` must
/// be held.
void cancel_twin(Request& request) {
  if (request.vendor.request == MPI_REQUEST_NULL || request.vendor.cancelling) return;
  request.vendor.cancelling = true;
  vendor::Cancel(&request.vendor.request);
}

class AnySourceReceive final : public RequestKind {
 public:
  constexpr AnySourceReceive() : RequestKind({.receives = true}) {}

  int start(Job& job, Request& request) const override {
    request.begin();
    // Held until the twin is known: another thread may learn of a contest at once.
    const MutexLock lock(request.mutex);
    job.needs_caller.fetch_add(1, std::memory_order_relaxed);
    int code = start_engine_receive(job, request, request.communicator->context, true);
    // A message that had arrived has matched already: no twin is needed.
    if (code == MPI_SUCCESS && request.receive.has_native_twin) {
      code = start_vendor_receive(request, MPI_ANY_SOURCE);
      if (code != MPI_SUCCESS) job.engine->withdraw(request.receive);
    }
    if (code != MPI_SUCCESS) end_both(job, request);
    return code;
  }

  bool advance(Job& job, Request& request) const override {
    if (!request.mutex.try_lock()) return false;
    const AdoptedLock lock(request.mutex);
    if (request.done.load(std::memory_order_relaxed)) return true;
    if (request.must_be_cancelled()) cancel_twin(request);
    return step_both(job, request);
  }

  int read_status(Job& job, Request& request, MPI_Status* status) const override {
    if (!request.vendor.won) return read_waiting_receive(job, request, status);
    copy_status(status, request.vendor.status);
    return code_of_vendor_part(request);
  }

  int cancel(Job& /*job*/, Request& request) const override {
    const MutexLock lock(request.mutex);
    if (cancel_pending_failure(request)) return MPI_SUCCESS;
    if (request.done.load() || request.vendor.request == MPI_REQUEST_NULL) return MPI_SUCCESS;
    request.user_cancelled = true;
    cancel_twin(request);
    return MPI_SUCCESS;
  }

  bool waits_in_vendor(Request& /*request*/) const override { return true; }
};

}  // namespace

const RequestKind& any_source_receive() {
  static constexpr AnySourceReceive kind;
  return kind;
}

bool RequestPool::poll_unsettled(Job& job) {
  if (unsettled_count_.load(std::memory_order_relaxed) == 0) return false;
  const MutexLock lock(mutex_);
  const auto settled = [&](Request* request) {
    if (!request->mutex.try_lock()) return false;
    const AdoptedLock request_lock(request->mutex);
    if (!request->done.load(std::memory_order_relaxed) && request->vendor.cancelling)
      step_both(job, *request);
    return !request->vendor.cancelling || request->done.load(std::memory_order_relaxed);
  };
  const std::size_t before = unsettled_.size();
  unsettled_.erase(std::remove_if(unsettled_.begin(), unsettled_.end(), settled), unsettled_.end());
  unsettled_count_.store(unsettled_.size(), std::memory_order_relaxed);
  return unsettled_.size() != before;
}

bool settle_contested(Job& job) {
  bool moved = request_pool().poll_unsettled(job);
  while (job.engine->contested_count() != 0) {
    wire::ReceiveOperation* operation = job.engine->contested();
    if (operation == nullptr) break;
    moved = true;
    // The operation is a member of its request.
    Request& request = *static_cast<Request*>(operation->owner);
    const MutexLock lock(request.mutex);
    // Since the receive was returned as contested, another thread may have completed it and started
    // it again.
    if (request.done.load(std::memory_order_relaxed) || !job.engine->is_contested(request.receive))
      continue;
    if (request.vendor.request == MPI_REQUEST_NULL) {
      job.engine->settle(request.receive, false);
    } else if (!request.vendor.cancelling) {
      request.vendor.cancelling = true;
      vendor::Cancel(&request.vendor.request);
    }
    if (!step_both(job, request) && request.vendor.cancelling)
      request_pool().remember_unsettled(request);
  }
  return moved;
}

}  // namespace impishim::shim
