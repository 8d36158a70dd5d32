// SPDX-License-Identifier: Apache-2.0
// MPI_Recv and MPI_Irecv.
#include "shim/pt2pt/receive.hpp"
#include <atomic>
#include <cstddef>
#include <utility>
#include "shim/completion/wait.hpp"
#include "shim/entry_points.hpp"
#include "shim/error/errors.hpp"
#include "shim/error/failure.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "shim/request/any_source.hpp"
#include "shim/request/arguments.hpp"
#include "shim/request/engine_request.hpp"
#include "shim/request/null_request.hpp"
#include "shim/request/request.hpp"
#include "shim/request/status.hpp"
#include "shim/request/vendor_request.hpp"
#include "shim/vendor.hpp"
#include "wire/message/operation.hpp"

namespace impishim::shim {

const RequestKind& receive_kind(const Communicator& communicator, int source) {
  if (source == MPI_PROC_NULL) return null_receive();
  if (source == MPI_ANY_SOURCE)
    return communicator.has_local_peers ? any_source_receive() : engine_receive();
  return communicator.local_ranks[static_cast<std::size_t>(source)] >= 0 ? vendor_receive()
                                                                         : engine_receive();
}

namespace {

Request& make_receive(Communicator& communicator, const char* function, void* buf, int count,
                      MPI_Datatype datatype, int source, int tag) {
  Request& request = request_pool().acquire(&communicator, function);
  request.kind = &receive_kind(communicator, source);
  request.set_receive(buf, count, datatype, source, tag);
  return request;
}

/// Receives inside this system. Blocks in the vendor only if no operation of this library needs
/// this thread (docs/architecture.md, Threads).
/// `communicator` is null if it is native.
[[gnu::noinline]] int receive_local(Job& job, const Communicator* communicator, void* buf,
                                    int count, MPI_Datatype datatype, int source, int tag,
                                    MPI_Comm comm, MPI_Status* status) {
  if (job.may_block_in_vendor())
    return vendor::Recv(buf, count, datatype, source, tag, comm, status);
  MPI_Request request = MPI_REQUEST_NULL;
  int code = vendor::Irecv(buf, count, datatype, source, tag, comm, &request);
  if (code != MPI_SUCCESS) return code;
  bool cancelling = false;
  MPI_Status ended{};
  drive_until(job, true, [&] {
    if (communicator != nullptr && communicator->revoked.load(std::memory_order_relaxed) &&
        !std::exchange(cancelling, true))
      vendor::Cancel(&request);
    int flag = 0;
    code = vendor::Test(&request, &flag, &ended);
    return code != MPI_SUCCESS || flag != 0;
  });
  int cancelled = 0;
  if (cancelling) vendor::Test_cancelled(&ended, &cancelled);
  if (cancelled != 0) return raise_revoked(comm, "MPI_Recv");
  copy_status(status, ended);
  return code;
}

int receive_remote(Job& job, const Communicator& communicator, void* buf, int count,
                   MPI_Datatype datatype, int source, int tag, MPI_Status* status) {
  wire::ReceiveOperation operation;
  const int described = describe_buffer("MPI_Recv", buf, count, datatype, operation.buffer);
  if (described != MPI_SUCCESS) return raise_if_own(communicator.handle, described);
  operation.context = communicator.context;
  operation.source = source == MPI_ANY_SOURCE ? wire::kAnySource : source;
  operation.tag = tag == MPI_ANY_TAG ? wire::kAnyTag : tag;
  job.engine->start(operation);
  if (!operation.complete()) await_operation(job, communicator, operation);
  if (operation.result.cancelled) return raise_revoked(communicator.handle, "MPI_Recv");
  set_remote_status(status, operation.result);
  if (operation.result.error) {
    exit_if_engine_failed(job);
    return raise(communicator.handle, "MPI_Recv", *operation.result.error);
  }
  return MPI_SUCCESS;
}

int receive_any(Job& job, Communicator& communicator, void* buf, int count, MPI_Datatype datatype,
                int tag, MPI_Status* status) {
  RequestPool& pool = request_pool();
  Request& request =
      make_receive(communicator, "MPI_Recv", buf, count, datatype, MPI_ANY_SOURCE, tag);
  MPI_Request handle = pool.handle_of(request);
  int code = request.kind->start(job, request);
  if (code == MPI_SUCCESS) {
    drive_until(job, true, [&] { return test_request(job, request); });
    code = finish_request(job, &handle, status);
    if (handle != MPI_REQUEST_NULL) {
      // The failure is pending for a request; the call ends.
      code = error_code(proc_failed_class(), "MPI_Recv", request.receive.result.error->text);
      pool.release(request);
    }
  } else {
    pool.release(request);
  }
  return raise_if_own(communicator.handle, code);
}

}  // namespace

int receive(Job& job, Communicator& communicator, void* buf, int count, MPI_Datatype datatype,
            int source, int tag, MPI_Status* status) {
  if (communicator.valid_rank(source)) [[likely]] {
    const int local = communicator.local_ranks[static_cast<std::size_t>(source)];
    if (local >= 0) {
      if (communicator.revoked.load(std::memory_order_relaxed)) [[unlikely]]
        return raise_revoked(communicator.handle, "MPI_Recv");
      const int code = receive_local(job, &communicator, buf, count, datatype, local, tag,
                                     communicator.handle, status);
      if (!communicator.local_ranks_are_spanning && status != MPI_STATUS_IGNORE)
        translate_source(communicator, *status);
      return code;
    }
  }
  const int code = check_receive(job, communicator, "MPI_Recv", count, datatype, source, tag);
  if (code != MPI_SUCCESS) return code;
  if (source == MPI_PROC_NULL) {
    set_empty_status(status, MPI_PROC_NULL);
    return MPI_SUCCESS;
  }
  if (source == MPI_ANY_SOURCE && communicator.has_local_peers) {
    return receive_any(job, communicator, buf, count, datatype, tag, status);
  }
  return receive_remote(job, communicator, buf, count, datatype, source, tag, status);
}

namespace calls {

int Recv(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
         MPI_Status* status) {
  Job& job = running_job();
  Communicator* communicator = spanning(&job, comm);
  if (communicator == nullptr && job.may_block_in_vendor_at_once())
    return vendor::Recv(buf, count, datatype, source, tag, comm, status);
  if (communicator == nullptr)
    return receive_local(job, nullptr, buf, count, datatype, source, tag, comm, status);
  const int local = communicator->local_rank(source);
  // The status of such a receive needs no translation.
  if (local >= 0 && communicator->local_ranks_are_spanning && job.may_block_in_vendor_at_once())
      [[likely]]
    return vendor::Recv(buf, count, datatype, local, tag, comm, status);
  return receive(job, *communicator, buf, count, datatype, source, tag, status);
}

namespace {

/// Receives with an own request. The function has the signature of MPI_Irecv, so that the caller
/// can call it as a tail call.
[[gnu::noinline]] int receive_by_own_request(void* buf, int count, MPI_Datatype datatype,
                                             int source, int tag, MPI_Comm comm,
                                             MPI_Request* handle) {
  Job& job = running_job();
  Communicator& communicator = *spanning(&job, comm);
  const int checked = check_receive(job, communicator, "MPI_Irecv", count, datatype, source, tag);
  if (checked != MPI_SUCCESS) return checked;
  RequestPool& pool = request_pool();
  Request& request = make_receive(communicator, "MPI_Irecv", buf, count, datatype, source, tag);
  const int code = request.kind->start(job, request);
  if (code != MPI_SUCCESS) {
    pool.release(request);
    return raise_if_own(communicator.handle, code);
  }
  *handle = pool.handle_of(request);
  return MPI_SUCCESS;
}

/// Starts a vendor receive from a process of this system whose rank at the vendor, `local`, differs
/// from its spanning rank.
int receive_renamed(void* buf, int count, MPI_Datatype datatype, int local, int source, int tag,
                    MPI_Comm comm, MPI_Request* handle) {
  const int code = vendor::raw::Irecv(buf, count, datatype, local, tag, comm, handle);
  if (code != MPI_SUCCESS) return code;
  running_job().receive_sources.put(*handle, source - local);
  return MPI_SUCCESS;
}

}  // namespace

int Irecv(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
          MPI_Request* handle) {
  Job& job = running_job();
  const Communicator* communicator = spanning(&job, comm);
  // Called without marking that the thread is inside the vendor: fast_path.hpp.
  if (communicator == nullptr)
    return vendor::raw::Irecv(buf, count, datatype, source, tag, comm, handle);
  const int local = communicator->local_rank(source);
  if (local >= 0 && communicator->local_ranks_are_spanning &&
      !job.hears_revocations.load(std::memory_order_relaxed))
    return vendor::raw::Irecv(buf, count, datatype, local, tag, comm, handle);
  if (local >= 0 && vendor_request_serves(job, *communicator))
    return receive_renamed(buf, count, datatype, local, source, tag, comm, handle);
  return receive_by_own_request(buf, count, datatype, source, tag, comm, handle);
}

}  // namespace calls
}  // namespace impishim::shim
