// SPDX-License-Identifier: Apache-2.0
// MPI_Send and similar calls, blocking and nonblocking.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include "shim/completion/wait.hpp"
#include "shim/datatype/datatype_predefined.hpp"
#include "shim/entry_points.hpp"
#include "shim/error/errors.hpp"
#include "shim/error/failure.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "shim/pt2pt/buffered.hpp"
#include "shim/request/arguments.hpp"
#include "shim/request/request.hpp"
#include "shim/vendor.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/data/type_layout.hpp"
#include "wire/engine/engine.hpp"
#include "wire/message/operation.hpp"

namespace impishim::shim {
namespace {

/// One kind of send: the vendor's two functions for it, and our name for it. A function that only
/// starts a message is called without marking that the thread is inside the vendor: fast_path.hpp.
struct SendForms {
  SendKind kind;
  const char* function;
  const char* nonblocking_function;
  int (*blocking)(const void*, int, MPI_Datatype, int, int, MPI_Comm);
  int (*nonblocking)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
};

constexpr SendForms kStandard = {SendKind::kStandard, "MPI_Send", "MPI_Isend", vendor::Send,
                                 vendor::raw::Isend};
constexpr SendForms kSynchronous = {SendKind::kSynchronous, "MPI_Ssend", "MPI_Issend",
                                    vendor::Ssend, vendor::raw::Issend};
constexpr SendForms kReady = {SendKind::kReady, "MPI_Rsend", "MPI_Irsend", vendor::Rsend,
                              vendor::raw::Irsend};
constexpr SendForms kBuffered = {SendKind::kBuffered, "MPI_Bsend", "MPI_Ibsend", vendor::Bsend,
                                 vendor::raw::Ibsend};

/// Sends inside this system when the vendor may not block at once. Blocks in the vendor only if no
/// operation of this library needs this thread (docs/architecture.md, Threads).
template <const SendForms& forms>
[[gnu::noinline]] int send_local(Job& job, const Communicator* communicator, const void* buf,
                                 int count, MPI_Datatype datatype, int dest, int tag,
                                 MPI_Comm comm) {
  if (communicator != nullptr && communicator->revoked.load(std::memory_order_relaxed))
    return raise_revoked(comm, forms.function);
  if (job.may_block_in_vendor()) return forms.blocking(buf, count, datatype, dest, tag, comm);
  MPI_Request request = MPI_REQUEST_NULL;
  int code = forms.nonblocking(buf, count, datatype, dest, tag, comm, &request);
  bool given_up = false;
  if (code == MPI_SUCCESS) {
    drive_until(job, true, [&] {
      int flag = 0;
      code = vendor::Test(&request, &flag, MPI_STATUS_IGNORE);
      given_up = flag == 0 && communicator != nullptr &&
                 communicator->revoked.load(std::memory_order_relaxed);
      return code != MPI_SUCCESS || flag != 0 || given_up;
    });
  }
  if (!given_up || code != MPI_SUCCESS) return code;
  // No receive on a revoked communicator can match it any more.
  vendor::Request_free(&request);
  return raise_revoked(comm, forms.function);
}

/// Sends a short contiguous message without an operation. Most messages are of this kind. Returns
/// false if this one is not, or must wait.
bool send_short(Job& job, const Communicator& communicator, const wire::TypeLayout& layout,
                const void* buf, int count, int dest, int tag) {
  const auto elements = static_cast<std::uint64_t>(count);
  const std::uint64_t size = elements * layout.packed_size(wire::Format::kNative);
  if (size > wire::Engine::kLongestShort || !layout.contiguous(elements)) return false;
  const std::byte* const first =
      size == 0 ? nullptr : wire::moved(static_cast<const std::byte*>(buf), layout.first_offset());
  return job.engine->send_short({communicator.world_rank(dest), communicator.context,
                                 communicator.rank, tag, std::span(first, size)});
}

/// Sends with an operation, and blocks until it is complete. Takes over `buffer`.
[[gnu::noinline]] int send_by_operation(Job& job, const Communicator& communicator,
                                        const SendForms& forms, wire::ConstBuffer& buffer, int dest,
                                        int tag) {
  wire::SendOperation operation;
  operation.buffer = std::move(buffer);
  address_send(communicator, dest, tag, forms.kind, operation);
  job.engine->start(operation);
  if (!operation.complete()) await_operation(job, communicator, operation);
  if (operation.result.cancelled) return raise_revoked(communicator.handle, forms.function);
  if (operation.result.error) {
    exit_if_engine_failed(job);
    return raise(communicator.handle, forms.function, *operation.result.error);
  }
  return MPI_SUCCESS;
}

int send_remote(Job& job, const Communicator& communicator, const SendForms& forms, const void* buf,
                int count, MPI_Datatype datatype, int dest, int tag) {
  const bool may_be_short = forms.kind != SendKind::kSynchronous;
  // Predefined types need no description.
  const wire::TypeLayout* const known =
      !may_be_short || (buf == nullptr && count != 0) ? nullptr : predefined_layout(datatype);
  if (known != nullptr && send_short(job, communicator, *known, buf, count, dest, tag))
    return MPI_SUCCESS;
  wire::ConstBuffer buffer;
  const int described = describe_buffer(forms.function, buf, count, datatype, buffer);
  if (described != MPI_SUCCESS) return raise_if_own(communicator.handle, described);
  if (may_be_short && known == nullptr &&
      send_short(job, communicator, *buffer.layout, buf, count, dest, tag))
    return MPI_SUCCESS;
  return send_by_operation(job, communicator, forms, buffer, dest, tag);
}

int send_buffered_remote(Job& job, Communicator& communicator, const SendForms& forms,
                         const void* buf, int count, MPI_Datatype datatype, int dest, int tag) {
  BufferedMessage message{communicator, forms.function, dest, tag, {}};
  int code = describe_buffer(forms.function, buf, count, datatype, message.buffer);
  if (code == MPI_SUCCESS) code = send_buffered(job, message);
  return raise_if_own(communicator.handle, code);
}

/// Sends to a process that is not of this system.
[[gnu::noinline]] int send_slow_path(Job& job, Communicator& communicator, const SendForms& forms,
                                     const void* buf, int count, MPI_Datatype datatype, int dest,
                                     int tag) {
  const int code = check_send(job, communicator, forms.function, count, datatype, dest, tag);
  if (code != MPI_SUCCESS || dest == MPI_PROC_NULL) return code;
  if (forms.kind == SendKind::kBuffered)
    return send_buffered_remote(job, communicator, forms, buf, count, datatype, dest, tag);
  return send_remote(job, communicator, forms, buf, count, datatype, dest, tag);
}

/// Starts a send to a process that is not of this system. The function has the signature of
/// MPI_Isend, so that the caller can call it as a tail call, with its arguments in their registers.
template <const SendForms& forms>
[[gnu::noinline]] int isend_slow_path(const void* buf, int count, MPI_Datatype datatype, int dest,
                                      int tag, MPI_Comm comm, MPI_Request* handle) {
  Job& job = running_job();
  Communicator& communicator = *spanning(&job, comm);
  const int checked =
      check_send(job, communicator, forms.nonblocking_function, count, datatype, dest, tag);
  if (checked != MPI_SUCCESS) return checked;
  RequestPool& pool = request_pool();
  Request& request = pool.acquire(&communicator, forms.nonblocking_function);
  request.kind = &send_kind(forms.kind, dest);
  request.set_send(forms.kind, buf, count, datatype, dest, tag);
  const int code = request.kind->start(job, request);
  if (code != MPI_SUCCESS) {
    pool.release(request);
    return raise_if_own(communicator.handle, code);
  }
  *handle = pool.handle_of(request);
  return MPI_SUCCESS;
}

// Every message inside a cluster takes the path to a process of this system. This path is therefore
// compiled with the vendor's functions as constants. All other cases are in separate functions, so
// that no registers need to be saved around them.

template <const SendForms& forms>
int send(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  Job& job = running_job();
  Communicator* communicator = spanning(&job, comm);
  const int local = communicator == nullptr ? dest : communicator->local_rank(dest);
  if (communicator != nullptr && local < 0)
    return send_slow_path(job, *communicator, forms, buf, count, datatype, dest, tag);
  if (!job.may_block_in_vendor_at_once()) [[unlikely]]
    return send_local<forms>(job, communicator, buf, count, datatype, local, tag, comm);
  return forms.blocking(buf, count, datatype, local, tag, comm);
}

template <const SendForms& forms>
int isend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
          MPI_Request* handle) {
  const Communicator* communicator = spanning(&running_job(), comm);
  const int local = communicator == nullptr ? dest : communicator->local_rank(dest);
  if (communicator != nullptr && local < 0)
    return isend_slow_path<forms>(buf, count, datatype, dest, tag, comm, handle);
  return forms.nonblocking(buf, count, datatype, local, tag, comm, handle);
}

}  // namespace

namespace calls {

int Send(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return send<kStandard>(buf, count, datatype, dest, tag, comm);
}
int Ssend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return send<kSynchronous>(buf, count, datatype, dest, tag, comm);
}
int Rsend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return send<kReady>(buf, count, datatype, dest, tag, comm);
}
int Bsend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
  return send<kBuffered>(buf, count, datatype, dest, tag, comm);
}
int Isend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
          MPI_Request* request) {
  return isend<kStandard>(buf, count, datatype, dest, tag, comm, request);
}
int Issend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
           MPI_Request* request) {
  return isend<kSynchronous>(buf, count, datatype, dest, tag, comm, request);
}
int Irsend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
           MPI_Request* request) {
  return isend<kReady>(buf, count, datatype, dest, tag, comm, request);
}
int Ibsend(const void* buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
           MPI_Request* request) {
  return isend<kBuffered>(buf, count, datatype, dest, tag, comm, request);
}

}  // namespace calls
}  // namespace impishim::shim
