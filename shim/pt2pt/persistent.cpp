// SPDX-License-Identifier: Apache-2.0
// MPI_Send_init and similar calls, MPI_Start, MPI_Startall (MPI-3.1 3.9).
#include <cstddef>
#include "shim/entry_points.hpp"
#include "shim/error/errors.hpp"
#include "shim/handle/own_handle.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "shim/pt2pt/buffered.hpp"
#include "shim/pt2pt/receive.hpp"
#include "shim/request/arguments.hpp"
#include "shim/request/request.hpp"
#include "shim/vendor.hpp"

namespace impishim::shim {
namespace {

using VendorInit = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

int send_init(Job& job, SendKind kind, const char* function, VendorInit vendor_init,
              const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
              MPI_Request* handle) {
  Communicator* communicator = spanning(&job, comm);
  if (communicator == nullptr) return vendor_init(buf, count, datatype, dest, tag, comm, handle);
  const int checked = check_send(job, *communicator, function, count, datatype, dest, tag);
  if (checked != MPI_SUCCESS) return checked;
  const int local =
      dest == MPI_PROC_NULL ? -1 : communicator->local_ranks[static_cast<std::size_t>(dest)];
  if (local >= 0) return vendor_init(buf, count, datatype, local, tag, comm, handle);
  Request& request = request_pool().acquire(communicator, function);
  request.kind = &send_kind(kind, dest);
  request.set_send(kind, buf, count, datatype, dest, tag);
  request.make_persistent();
  *handle = request_pool().handle_of(request);
  return MPI_SUCCESS;
}

/// Creates the vendor's persistent receive for an own receive. It can be started even after the
/// communicator has been freed.
int init_vendor_part(Request& request, int local) {
  if (!request.kind->waits_in_vendor(request)) return MPI_SUCCESS;
  const MessageArguments& arguments = request.arguments;
  return vendor::Recv_init(arguments.receive_buffer, static_cast<int>(arguments.count),
                           arguments.datatype,
                           arguments.peer == MPI_ANY_SOURCE ? MPI_ANY_SOURCE : local, arguments.tag,
                           request.communicator->handle, &request.vendor.persistent);
}

}  // namespace

namespace calls {

int Send_init(Job& job, const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
              MPI_Comm comm, MPI_Request* request) {
  return send_init(job, SendKind::kStandard, "MPI_Send_init", vendor::Send_init, buf, count,
                   datatype, dest, tag, comm, request);
}
int Ssend_init(Job& job, const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
               MPI_Comm comm, MPI_Request* request) {
  return send_init(job, SendKind::kSynchronous, "MPI_Ssend_init", vendor::Ssend_init, buf, count,
                   datatype, dest, tag, comm, request);
}
int Rsend_init(Job& job, const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
               MPI_Comm comm, MPI_Request* request) {
  return send_init(job, SendKind::kReady, "MPI_Rsend_init", vendor::Rsend_init, buf, count,
                   datatype, dest, tag, comm, request);
}
int Bsend_init(Job& job, const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
               MPI_Comm comm, MPI_Request* request) {
  return send_init(job, SendKind::kBuffered, "MPI_Bsend_init", vendor::Bsend_init, buf, count,
                   datatype, dest, tag, comm, request);
}

int Recv_init(Job& job, void* buf, int count, MPI_Datatype datatype, int source, int tag,
              MPI_Comm comm, MPI_Request* handle) {
  Communicator* communicator = spanning(&job, comm);
  if (communicator == nullptr)
    return vendor::Recv_init(buf, count, datatype, source, tag, comm, handle);
  const int checked =
      check_receive(job, *communicator, "MPI_Recv_init", count, datatype, source, tag);
  if (checked != MPI_SUCCESS) return checked;
  const int local = communicator->local_rank(source);
  if (local >= 0 && vendor_request_serves(job, *communicator)) {
    const int code = vendor::Recv_init(buf, count, datatype, local, tag, comm, handle);
    if (code == MPI_SUCCESS) job.receive_sources.put_to_stay(*handle, source - local);
    return code;
  }
  Request& request = request_pool().acquire(communicator, "MPI_Recv_init");
  request.kind = &receive_kind(*communicator, source);
  request.set_receive(buf, count, datatype, source, tag);
  request.make_persistent();
  if (const int code = init_vendor_part(request, local); code != MPI_SUCCESS) {
    request_pool().release(request);
    return code;
  }
  *handle = request_pool().handle_of(request);
  return MPI_SUCCESS;
}

int Start(Job& job, MPI_Request* handle) {
  if (!is_own_request(*handle)) return vendor::Start(handle);
  Request& request = request_pool().at(*handle);
  if (!request.persistent || request.active) {
    return raise(request.comm(), MPI_ERR_REQUEST, "MPI_Start",
                 "the request is not an inactive persistent one");
  }
  const int code = request.kind->start(job, request);
  if (code == MPI_SUCCESS) return code;
  request.active = false;
  request.done.store(true);
  return request.kind->traits().raises_errors ? code : raise_if_own(request.comm(), code);
}

int Startall(Job& job, int count, MPI_Request* handles) {
  if (!any_own_request(count, handles)) return vendor::Startall(count, handles);
  for (int i = 0; i < count; ++i) {
    const int code = Start(job, &handles[i]);
    if (code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

}  // namespace calls
}  // namespace impishim::shim
