// SPDX-License-Identifier: Apache-2.0
#include "shim/request/engine_request.hpp"

#include <optional>

#include "shim/error/errors.hpp"
#include "shim/error/failure.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "shim/request/arguments.hpp"
#include "shim/request/request.hpp"
#include "shim/request/status.hpp"
#include "shim/vendor.hpp"
#include "wire/base/result.hpp"
#include "wire/message/operation.hpp"

namespace impishim::shim {

int start_engine_receive(Job& job, Request& request, wire::ContextId context, bool has_twin) {
  const int described =
      describe_buffer(request.function, request.arguments.receive_buffer, request.arguments.count,
                      request.arguments.datatype, request.receive.buffer);
  if (described != MPI_SUCCESS) return described;
  request.receive.context = context;
  request.receive.source =
      request.arguments.peer == MPI_ANY_SOURCE ? wire::kAnySource : request.arguments.peer;
  request.receive.tag =
      request.arguments.tag == MPI_ANY_TAG ? wire::kAnyTag : request.arguments.tag;
  request.receive.has_native_twin = has_twin;
  request.receive.owner = &request;
  job.engine->start(request.receive);
  return MPI_SUCCESS;
}

namespace {

/// Returns an error of the engine as a code that was not raised.
int code_of(Job& job, const Request& request, const wire::Envelope& result) {
  const std::optional<Error>& error = result.error;
  if (!error)
    return result.cancelled && request.is_revoked() ? revoked_code(request.function) : MPI_SUCCESS;
  exit_if_engine_failed(job);
  return error_code(error_class_of(error->kind), request.function, error->text);
}

class EngineSend final : public RequestKind {
 public:
  constexpr EngineSend() : RequestKind({.receives = false, .moves_by_itself = true}) {}

  int start(Job& job, Request& request) const override {
    request.begin();
    const int described =
        describe_buffer(request.function, request.arguments.send_buffer, request.arguments.count,
                        request.arguments.datatype, request.send.buffer);
    if (described != MPI_SUCCESS) return described;
    address_send(*request.communicator, request.arguments.peer, request.arguments.tag,
                 request.arguments.send_kind, request.send);
    job.engine->start(request.send);
    return MPI_SUCCESS;
  }

  bool advance(Job& job, Request& request) const override {
    if (!request.send.complete() && request.must_be_cancelled()) job.engine->cancel(request.send);
    return request.send.complete() && request.end();
  }

  int read_status(Job& job, Request& request, MPI_Status* status) const override {
    return read_engine_send(job, request, status);
  }

  int cancel(Job& job, Request& request) const override {
    job.engine->cancel(request.send);
    return MPI_SUCCESS;
  }

  bool waits_in_vendor(Request& /*request*/) const override { return false; }
};

class EngineReceive final : public RequestKind {
 public:
  constexpr EngineReceive() : RequestKind({.receives = true, .moves_by_itself = true}) {}

  int start(Job& job, Request& request) const override {
    request.begin();
    return start_engine_receive(job, request, request.communicator->context, false);
  }

  bool advance(Job& job, Request& request) const override {
    if (!request.receive.complete() && request.must_be_cancelled())
      job.engine->cancel(request.receive);
    return request.receive.complete() && request.end();
  }

  int read_status(Job& job, Request& request, MPI_Status* status) const override {
    return read_waiting_receive(job, request, status);
  }

  int cancel(Job& job, Request& request) const override {
    if (!cancel_pending_failure(request)) job.engine->cancel(request.receive);
    return MPI_SUCCESS;
  }

  bool waits_in_vendor(Request& /*request*/) const override { return false; }
};

}  // namespace

int read_engine_send(Job& job, const Request& request, MPI_Status* status) {
  set_empty_status(status, MPI_ANY_SOURCE);
  if (request.send.result.cancelled && status != MPI_STATUS_IGNORE)
    vendor::Status_set_cancelled(status, 1);
  return code_of(job, request, request.send.result);
}

int read_engine_receive(Job& job, const Request& request, MPI_Status* status) {
  set_remote_status(status, request.receive.result);
  return code_of(job, request, request.receive.result);
}

int read_waiting_receive(Job& job, Request& request, MPI_Status* status) {
  const wire::Envelope& result = request.receive.result;
  const bool waited_for_any =
      request.arguments.peer == MPI_ANY_SOURCE && result.source == wire::kAnySource;
  if (!waited_for_any || !result.error || result.error->kind != ErrorKind::kLost)
    return read_engine_receive(job, request, status);
  exit_if_engine_failed(job);
  set_empty_status(status, MPI_ANY_SOURCE);
  request.failure_pending = !request.is_revoked();
  return request.failure_pending
             ? error_code(proc_failed_pending_class(), request.function, result.error->text)
             : revoked_code(request.function);
}

bool cancel_pending_failure(Request& request) {
  if (!request.failure_pending) return false;
  request.failure_pending = false;
  request.receive.result.error.reset();
  request.receive.result.cancelled = true;
  return true;
}

const RequestKind& engine_send() {
  static constexpr EngineSend kind;
  return kind;
}

const RequestKind& engine_receive() {
  static constexpr EngineReceive kind;
  return kind;
}

}  // namespace impishim::shim
