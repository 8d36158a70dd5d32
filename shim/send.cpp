// MPI_Send and its kin, blocking and nonblocking.
#include "shim/arguments.hpp"
#include "shim/buffered.hpp"
#include "shim/errors.hpp"
#include "shim/handled.hpp"
#include "shim/request.hpp"
#include "shim/vendor.hpp"
#include "shim/wait.hpp"

namespace impishim::shim {
namespace {

/// One kind of send: the vendor's two functions for it, and our name for it.
struct SendForms {
  SendKind kind;
  const char* function;
  const char* nonblocking_function;
  int (*blocking)(const void*, int, MPI_Datatype, int, int, MPI_Comm);
  int (*nonblocking)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
};

constexpr SendForms kStandard = {SendKind::kStandard, "MPI_Send", "MPI_Isend", vendor::Send, vendor::Isend};
constexpr SendForms kSynchronous = {SendKind::kSynchronous, "MPI_Ssend", "MPI_Issend", vendor::Ssend, vendor::Issend};
constexpr SendForms kReady = {SendKind::kReady, "MPI_Rsend", "MPI_Irsend", vendor::Rsend, vendor::Irsend};
constexpr SendForms kBuffered = {SendKind::kBuffered, "MPI_Bsend", "MPI_Ibsend", vendor::Bsend, vendor::Ibsend};

/// A blocking send inside this system. The vendor may only block if nothing of ours needs this thread (DESIGN 4b).
template <const SendForms& forms>
int send_local(Job& job, const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  if (job.may_block_in_vendor()) [[likely]]
    return forms.blocking(buf, count, datatype, dest, tag, comm);
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = forms.nonblocking(buf, count, datatype, dest, tag, comm, &request);
  return code == MPI_SUCCESS ? poll_native(job, request) : code;
}

int send_remote(Job& job, const Communicator& communicator, const SendForms& forms, const void* buf, int count,
                MPI_Datatype datatype, int dest, int tag) {
  wire::SendOperation operation;
  const int described = describe_buffer(forms.function, buf, count, datatype, operation.buffer);
  if (described != MPI_SUCCESS) return raise_if_own(communicator.handle, described);
  operation.destination = communicator.members[static_cast<std::size_t>(dest)];
  operation.context = communicator.context;
  operation.source_rank = communicator.rank;
  operation.tag = tag;
  operation.mode = forms.kind == SendKind::kSynchronous ? wire::SendMode::kSynchronous : wire::SendMode::kStandard;
  job.engine->start(operation);
  if (!operation.complete()) drive_until(job, false, [&] { return operation.complete(); });
  if (operation.result.error) {
    heed_failure(job);
    return raise(communicator.handle, forms.function, *operation.result.error);
  }
  return MPI_SUCCESS;
}

int send_buffered_remote(Job& job, Communicator& communicator, const SendForms& forms, const void* buf, int count,
                         MPI_Datatype datatype, int dest, int tag) {
  wire::ConstBuffer buffer;
  const int described = describe_buffer(forms.function, buf, count, datatype, buffer);
  if (described != MPI_SUCCESS) return raise_if_own(communicator.handle, described);
  Request& request = RequestPool::instance().acquire(&communicator, forms.function);
  request.peer = dest;
  request.tag = tag;
  const int code = start_buffered_send(job, request, buffer);
  RequestPool::instance().release(request);
  return raise_if_own(communicator.handle, code);
}

/// A send that is not to a process of this system.
int send_elsewhere(Job& job, Communicator& communicator, const SendForms& forms, const void* buf, int count,
                   MPI_Datatype datatype, int dest, int tag) {
  const int code = check_send(job, communicator, forms.function, count, datatype, dest, tag);
  if (code != MPI_SUCCESS || dest == MPI_PROC_NULL) return code;
  if (forms.kind == SendKind::kBuffered) return send_buffered_remote(job, communicator, forms, buf, count, datatype, dest, tag);
  return send_remote(job, communicator, forms, buf, count, datatype, dest, tag);
}

int isend_elsewhere(Job& job, Communicator& communicator, const SendForms& forms, const void* buf, int count,
                    MPI_Datatype datatype, int dest, int tag, MPI_Request* handle) {
  const int checked = check_send(job, communicator, forms.nonblocking_function, count, datatype, dest, tag);
  if (checked != MPI_SUCCESS) return checked;
  RequestPool& pool = RequestPool::instance();
  Request& request = pool.acquire(&communicator, forms.nonblocking_function);
  request.carrier = dest == MPI_PROC_NULL ? Carrier::kNothing : Carrier::kEngine;
  request.set_send(forms.kind, buf, count, datatype, dest, tag);
  const int code = start_send(job, request);
  if (code != MPI_SUCCESS) {
    pool.release(request);
    return raise_if_own(communicator.handle, code);
  }
  *handle = pool.handle_of(request);
  return MPI_SUCCESS;
}

// The way to a process of this system is every message's inside a cluster: the vendor's functions are known where it is
// compiled.

template <const SendForms& forms>
int send(Job& job, const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  Communicator* communicator = spanning(&job, comm);
  if (communicator == nullptr) return send_local<forms>(job, buf, count, datatype, dest, tag, comm);
  if (communicator->valid_rank(dest)) [[likely]] {
    const int local = communicator->local_ranks[static_cast<std::size_t>(dest)];
    if (local >= 0) return send_local<forms>(job, buf, count, datatype, local, tag, comm);
  }
  return send_elsewhere(job, *communicator, forms, buf, count, datatype, dest, tag);
}

template <const SendForms& forms>
int isend(Job& job, const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request* handle) {
  Communicator* communicator = spanning(&job, comm);
  if (communicator == nullptr) return forms.nonblocking(buf, count, datatype, dest, tag, comm, handle);
  if (communicator->valid_rank(dest)) [[likely]] {
    const int local = communicator->local_ranks[static_cast<std::size_t>(dest)];
    if (local >= 0) return forms.nonblocking(buf, count, datatype, local, tag, comm, handle);
  }
  return isend_elsewhere(job, *communicator, forms, buf, count, datatype, dest, tag, handle);
}

}  // namespace

namespace calls {

int Send(Job& job, const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return send<kStandard>(job, buf, count, datatype, dest, tag, comm);
}
int Ssend(Job& job, const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return send<kSynchronous>(job, buf, count, datatype, dest, tag, comm);
}
int Rsend(Job& job, const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return send<kReady>(job, buf, count, datatype, dest, tag, comm);
}
int Bsend(Job& job, const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return send<kBuffered>(job, buf, count, datatype, dest, tag, comm);
}
int Isend(Job& job, const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, MPI_Request* request) {
  return isend<kStandard>(job, buf, count, datatype, dest, tag, comm, request);
}
int Issend(Job& job, const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
           MPI_Request* request) {
  return isend<kSynchronous>(job, buf, count, datatype, dest, tag, comm, request);
}
int Irsend(Job& job, const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
           MPI_Request* request) {
  return isend<kReady>(job, buf, count, datatype, dest, tag, comm, request);
}
int Ibsend(Job& job, const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
           MPI_Request* request) {
  return isend<kBuffered>(job, buf, count, datatype, dest, tag, comm, request);
}

}  // namespace calls
}  // namespace impishim::shim
