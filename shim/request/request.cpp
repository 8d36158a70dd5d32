// SPDX-License-Identifier: Apache-2.0
#include "shim/request/request.hpp"

#include <atomic>

#include "shim/datatype/datatype_predefined.hpp"
#include "shim/error/errors.hpp"
#include "shim/job/job.hpp"
#include "shim/request/status.hpp"
#include "shim/vendor.hpp"
#include "wire/message/operation.hpp"

namespace impishim::shim {

void Request::set_send(SendKind mode, const void* buffer, int elements, MPI_Datatype type, int dest,
                       int message_tag) {
  arguments.send_kind = mode;
  arguments.send_buffer = buffer;
  arguments.count = elements;
  arguments.datatype = type;
  arguments.peer = dest;
  arguments.tag = message_tag;
}

void Request::set_receive(void* buffer, int elements, MPI_Datatype type, int source,
                          int message_tag) {
  arguments.receive_buffer = buffer;
  arguments.count = elements;
  arguments.datatype = type;
  arguments.peer = source;
  arguments.tag = message_tag;
}

void Request::make_persistent() {
  persistent = true;
  done.store(true);
  if (predefined_layout(arguments.datatype) != nullptr) return;
  const MPI_Datatype of_user = arguments.datatype;
  arguments.owns_datatype = vendor::Type_dup(of_user, &arguments.datatype) == MPI_SUCCESS;
}

void Request::begin() {
  active = true;
  done.store(false, std::memory_order_relaxed);
  vendor.won = false;
  vendor.cancelling = false;
  user_cancelled = false;
  failure_pending = false;
  error = MPI_SUCCESS;
}

int raise_if_own(MPI_Comm comm, int code) {
  if (code == MPI_SUCCESS) return code;
  const auto text = own_error_text(code);
  return text ? raise_code(comm, code, *text) : code;
}

int read_status(Job& job, Request& request, MPI_Status* status) {
  if (request.active) return request.kind->read_status(job, request, status);
  set_empty_status(status, MPI_ANY_SOURCE);
  return MPI_SUCCESS;
}

bool is_done_or_closed(Job& job, Request& request) {
  const bool closed =
      job.engine->closed_source(request.communicator->context, wire::kAnySource).has_value();
  if (closed || request.is_revoked()) return true;
  // What it can fail in, a datatype, was in order the first time.
  request.error = request.kind->start(job, request);
  return request.error != MPI_SUCCESS ? request.end() : request.kind->advance(job, request);
}

int finish_request(Job& job, MPI_Request* handle, MPI_Status* status) {
  RequestPool& pool = request_pool();
  Request& request = pool.at(*handle);
  const int code = read_status(job, request, status);
  if (request.active && request.failure_pending) return code;
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
