// SPDX-License-Identifier: Apache-2.0
#include "shim/request/request.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>

#include "shim/datatype/datatype_predefined.hpp"
#include "shim/error/errors.hpp"
#include "shim/error/failure.hpp"
#include "shim/job/job.hpp"
#include "shim/request/arguments.hpp"
#include "shim/request/buffered.hpp"
#include "shim/request/completion.hpp"
#include "shim/request/status.hpp"
#include "shim/vendor.hpp"
#include "wire/base/mutex.hpp"
#include "wire/engine/operation.hpp"

namespace impishim::shim {

void Request::set_send(SendKind mode, const void* buffer, int elements, MPI_Datatype type, int dest,
                       int message_tag) {
  kind = Kind::kSend;
  send_kind = mode;
  send_buffer = buffer;
  count = elements;
  datatype = type;
  peer = dest;
  tag = message_tag;
}

void Request::set_receive(void* buffer, int elements, MPI_Datatype type, int source,
                          int message_tag) {
  kind = Kind::kReceive;
  receive_buffer = buffer;
  count = elements;
  datatype = type;
  peer = source;
  tag = message_tag;
}

void Request::make_persistent() {
  persistent = true;
  done.store(true);
  if (predefined_layout(datatype) != nullptr) return;
  const MPI_Datatype of_user = datatype;
  owns_datatype = vendor::Type_dup(of_user, &datatype) == MPI_SUCCESS;
}

namespace {

/// Starts the engine's part of a receive. Returns an MPI code.
int start_engine_receive(Job& job, Request& request, bool has_twin) {
  const int described = describe_buffer(request.function, request.receive_buffer, request.count,
                                        request.datatype, request.receive.buffer);
  if (described != MPI_SUCCESS) return described;
  request.receive.context = request.communicator->context;
  request.receive.source = request.peer == MPI_ANY_SOURCE ? wire::kAnySource : request.peer;
  request.receive.tag = request.tag == MPI_ANY_TAG ? wire::kAnyTag : request.tag;
  request.receive.has_native_twin = has_twin;
  request.receive.owner = &request;
  job.engine->start(request.receive);
  return MPI_SUCCESS;
}

/// Completes a receive that was posted both at the vendor and in the engine.
void end_both(Job& job, Request& request) {
  job.needs_caller.fetch_sub(1, std::memory_order_relaxed);
  request.done.store(true, std::memory_order_release);
}

int vendor_receive(Request& request, int source) {
  if (request.persistent) {
    request.native = request.native_persistent;
    return vendor::Start(&request.native);
  }
  return vendor::Irecv(request.receive_buffer, static_cast<int>(request.count), request.datatype,
                       source, request.tag, request.communicator->handle, &request.native);
}

}  // namespace

/// Starts a receive.
///
/// A native twin does not disturb MPI's matching order. The vendor alone matches messages of this
/// system's processes, against native receives posted in the user's order. The engine alone matches
/// messages of other systems, against receives posted there in the same order. A receive from
/// MPI_ANY_SOURCE is in both lists at its place, and only one of the two may fill it. A remote
/// message that reaches the receive contests it, and the twin is cancelled. A cancel has exactly
/// two outcomes. If the twin is cancelled, no native message had matched it, and the engine's first
/// match stands. If it is not, a native message had matched it. For the remote messages, this is as
/// if the receive had been taken before they arrived, so they match the next receives, in order.
/// MatchQueue holds them back meanwhile.
int start_receive(Job& job, Request& request) {
  request.active = true;
  request.done.store(false, std::memory_order_relaxed);
  request.native_won = false;
  request.cancelling_twin = false;
  request.user_cancelled = false;
  request.error = MPI_SUCCESS;
  switch (request.carrier) {
    case Carrier::kNothing:
      return MPI_SUCCESS;
    case Carrier::kVendor:
      return vendor_receive(
          request, request.communicator->local_ranks[static_cast<std::size_t>(request.peer)]);
    case Carrier::kEngine:
      return start_engine_receive(job, request, false);
    case Carrier::kPair:
    case Carrier::kBoth:
    case Carrier::kCollective:
      break;
  }
  // Held until the twin is known: another thread may learn of a contest at once.
  const MutexLock lock(request.mutex);
  job.needs_caller.fetch_add(1, std::memory_order_relaxed);
  int code = start_engine_receive(job, request, true);
  // A message that had arrived has matched already: no twin is needed.
  if (code == MPI_SUCCESS && request.receive.has_native_twin) {
    code = vendor_receive(request, MPI_ANY_SOURCE);
    if (code != MPI_SUCCESS) job.engine->withdraw(request.receive);
  }
  if (code != MPI_SUCCESS) end_both(job, request);
  return code;
}

int start_send(Job& job, Request& request) {
  request.active = true;
  request.done.store(false, std::memory_order_relaxed);
  request.error = MPI_SUCCESS;
  request.user_cancelled = false;
  if (request.carrier == Carrier::kNothing) return MPI_SUCCESS;
  const int local = request.communicator->local_ranks[static_cast<std::size_t>(request.peer)];
  if (request.carrier == Carrier::kVendor) {
    const auto start = request.send_kind == SendKind::kStandard      ? vendor::Isend
                       : request.send_kind == SendKind::kSynchronous ? vendor::Issend
                       : request.send_kind == SendKind::kReady       ? vendor::Irsend
                                                                     : vendor::Ibsend;
    return start(request.send_buffer, static_cast<int>(request.count), request.datatype, local,
                 request.tag, request.communicator->handle, &request.native);
  }
  const int described = describe_buffer(request.function, request.send_buffer, request.count,
                                        request.datatype, request.send.buffer);
  if (described != MPI_SUCCESS) return described;
  if (request.send_kind == SendKind::kBuffered) {
    request.send.result = wire::Envelope{};
    return start_buffered_send(job, request, request.send.buffer);
  }
  request.send.destination = request.communicator->members[static_cast<std::size_t>(request.peer)];
  request.send.context = request.communicator->context;
  request.send.source_rank = request.communicator->rank;
  request.send.tag = request.tag;
  request.send.mode = request.send_kind == SendKind::kSynchronous ? wire::SendMode::kSynchronous
                                                                  : wire::SendMode::kStandard;
  job.engine->start(request.send);
  return MPI_SUCCESS;
}

namespace {

/// Records that the native part of a request is complete: its status is the result.
void native_finished(Request& request, int code) {
  request.native = MPI_REQUEST_NULL;
  if (request.kind == Request::Kind::kReceive)
    translate_source(*request.communicator, request.native_status);
  request.native_won = true;
  request.error = code;
}

/// Tests the native part. Returns true if it is complete.
bool test_native(Request& request) {
  int flag = 0;
  const int code = vendor::Test(&request.native, &flag, &request.native_status);
  if (code == MPI_SUCCESS && flag == 0) return false;
  native_finished(request, code);
  return true;
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
  if (request.native == MPI_REQUEST_NULL || !test_native(request)) return false;
  int cancelled = 0;
  vendor::Test_cancelled(&request.native_status, &cancelled);
  if (request.cancelling_twin && cancelled != 0) {
    request.native_won = false;
    request.cancelling_twin = false;
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

}  // namespace

/// Tests both parts of an MPI_Isendrecv; a complete part is MPI_REQUEST_NULL.
bool test_pair(Job& job, Request& request) {
  bool both = true;
  for (std::size_t i = 0; i < request.pair.size(); ++i) {
    if (request.pair[i] == MPI_REQUEST_NULL) continue;
    const TestResult part =
        test_handle(job, &request.pair[i], i == 0 ? &request.native_status : MPI_STATUS_IGNORE);
    both = both && part.done;
    if (part.code != MPI_SUCCESS) request.error = part.code;
  }
  return both;
}

bool test_request(Job& job, Request& request) {
  if (request.done.load(std::memory_order_acquire)) return true;
  bool finished = false;
  switch (request.carrier) {
    case Carrier::kNothing:
      finished = true;
      break;
    case Carrier::kEngine:
      finished = request.engine_is_done();
      break;
    case Carrier::kVendor: {
      if (!request.mutex.try_lock()) return false;
      const AdoptedLock lock(request.mutex);
      if (request.done.load(std::memory_order_relaxed)) return true;
      finished = test_native(request);
      break;
    }
    case Carrier::kPair: {
      if (!request.mutex.try_lock()) return false;
      const AdoptedLock lock(request.mutex);
      finished = request.done.load(std::memory_order_relaxed) || test_pair(job, request);
      break;
    }
    case Carrier::kCollective: {
      if (!request.mutex.try_lock()) return false;
      const AdoptedLock lock(request.mutex);
      finished =
          request.done.load(std::memory_order_relaxed) || request.collective->test(job, request);
      break;
    }
    case Carrier::kBoth: {
      if (!request.mutex.try_lock()) return false;
      const AdoptedLock lock(request.mutex);
      return request.done.load(std::memory_order_relaxed) || step_both(job, request);
    }
  }
  if (finished) request.done.store(true, std::memory_order_release);
  return finished;
}

bool RequestPool::poll_unsettled(Job& job) {
  if (unsettled_count_.load(std::memory_order_relaxed) == 0) return false;
  const MutexLock lock(mutex_);
  const auto settled = [&](Request* request) {
    if (!request->mutex.try_lock()) return false;
    const AdoptedLock request_lock(request->mutex);
    if (!request->done.load(std::memory_order_relaxed) && request->cancelling_twin)
      step_both(job, *request);
    return !request->cancelling_twin || request->done.load(std::memory_order_relaxed);
  };
  const std::size_t before = unsettled_.size();
  unsettled_.erase(std::remove_if(unsettled_.begin(), unsettled_.end(), settled), unsettled_.end());
  unsettled_count_.store(unsettled_.size(), std::memory_order_relaxed);
  return unsettled_.size() != before;
}

bool settle_contested(Job& job) {
  bool moved = RequestPool::instance().poll_unsettled(job);
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
    if (request.native == MPI_REQUEST_NULL) {
      job.engine->settle(request.receive, false);
    } else if (!request.cancelling_twin) {
      request.cancelling_twin = true;
      vendor::Cancel(&request.native);
    }
    if (!step_both(job, request) && request.cancelling_twin)
      RequestPool::instance().remember_unsettled(request);
  }
  return moved;
}

namespace {

/// Returns the error of a request whose engine part is complete, as a code that was not raised.
int engine_error(Job& job, const Request& request) {
  const auto& error = request.kind == Request::Kind::kSend ? request.send.result.error
                                                           : request.receive.result.error;
  if (!error) return MPI_SUCCESS;
  heed_failure(job);
  return error_code(error_class_of(error->kind), request.function, error->text);
}

}  // namespace

int raise_if_own(MPI_Comm comm, int code) {
  if (code == MPI_SUCCESS) return code;
  const auto text = own_error_text(code);
  return text ? raise_code(comm, code, *text) : code;
}

int read_status(Job& job, Request& request, MPI_Status* status) {
  if (!request.active || request.carrier == Carrier::kNothing) {
    const bool null_receive = request.active && request.kind == Request::Kind::kReceive;
    set_empty_status(status, null_receive ? MPI_PROC_NULL : MPI_ANY_SOURCE);
    return MPI_SUCCESS;
  }
  if (request.carrier == Carrier::kPair) {
    copy_status(status, request.native_status);
    return request.error;
  }
  if (request.carrier == Carrier::kCollective) {
    set_empty_status(status, MPI_ANY_SOURCE);
    return request.error;
  }
  if (request.native_won || request.carrier == Carrier::kVendor) {
    copy_status(status, request.native_status);
    return request.error;
  }
  if (request.kind == Request::Kind::kSend) {
    set_empty_status(status, MPI_ANY_SOURCE);
    if (request.send.result.cancelled && status != MPI_STATUS_IGNORE)
      vendor::Status_set_cancelled(status, 1);
  } else {
    set_remote_status(status, request.receive.result);
  }
  return engine_error(job, request);
}

int finish_request(Job& job, MPI_Request* handle, MPI_Status* status) {
  RequestPool& pool = RequestPool::instance();
  Request& request = pool.at(*handle);
  const int code = read_status(job, request, status);
  if (request.buffered_cost > 0) {
    BufferedSpace::instance().give_back(request.buffered_cost);
    request.buffered_cost = 0;
  }
  if (request.persistent) {
    request.active = false;
    request.done.store(true, std::memory_order_relaxed);
    return code;
  }
  pool.release(request);
  *handle = MPI_REQUEST_NULL;
  return code;
}

}  // namespace impishim::shim
