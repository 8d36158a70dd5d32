// SPDX-License-Identifier: Apache-2.0
// MPI_Probe, MPI_Mprobe and similar calls; MPI_Mrecv and MPI_Imrecv (MPI-3.1 3.8).
#include <atomic>
#include <cstddef>
#include <utility>
#include "shim/completion/wait.hpp"
#include "shim/entry_points.hpp"
#include "shim/error/errors.hpp"
#include "shim/handle/own_handle.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "shim/job/lost_systems.hpp"
#include "shim/job/message_pool.hpp"
#include "shim/request/arguments.hpp"
#include "shim/request/engine_request.hpp"
#include "shim/request/request.hpp"
#include "shim/request/status.hpp"
#include "shim/request/vendor_request.hpp"
#include "shim/vendor.hpp"
#include "wire/message/operation.hpp"

namespace impishim::shim {
namespace {

/// Polls once for vendor messages from a local rank or MPI_ANY_SOURCE, and translates the source.
int look_native(const Communicator& communicator, int source, int tag, bool* found,
                MPI_Status* status) {
  const int local = source == MPI_ANY_SOURCE
                        ? MPI_ANY_SOURCE
                        : communicator.local_ranks[static_cast<std::size_t>(source)];
  int flag = 0;
  MPI_Status native{};
  const int code = vendor::Iprobe(local, tag, communicator.handle, &flag, &native);
  *found = code == MPI_SUCCESS && flag != 0;
  if (!*found) return code;
  translate_source(communicator, native);
  copy_status(status, native);
  return code;
}

bool look_remote(Job& job, const Communicator& communicator, int source, int tag,
                 MPI_Status* status) {
  const auto envelope =
      job.engine->probe(communicator.context, source == MPI_ANY_SOURCE ? wire::kAnySource : source,
                        tag == MPI_ANY_TAG ? wire::kAnyTag : tag);
  if (envelope) set_remote_status(status, *envelope);
  return envelope.has_value();
}

bool may_be_native(const Communicator& communicator, int source) {
  if (source == MPI_ANY_SOURCE) return communicator.has_local_peers;
  return communicator.local_ranks[static_cast<std::size_t>(source)] >= 0;
}

bool may_be_remote(const Communicator& communicator, int source) {
  return source == MPI_ANY_SOURCE || communicator.local_ranks[static_cast<std::size_t>(source)] < 0;
}

/// Makes progress after a look in vain. Returns true if another look may find a message. The vendor
/// has made its own progress in the first one.
bool progress_for(Job& job, const Communicator& communicator, int source) {
  if (may_be_remote(communicator, source)) return progress_for_test(job);
  progress_for_vendor(job);
  return false;
}

/// Raises the error of a probe in vain that would wait for a process of a lost system, or on a
/// revoked communicator.
int check_lost(Job& job, const Communicator& communicator, const char* function, int source) {
  if (communicator.revoked.load(std::memory_order_relaxed)) [[unlikely]]
    return raise_revoked(communicator.handle, function);
  if (job.engine->lost_count() == 0 || !may_be_remote(communicator, source)) return MPI_SUCCESS;
  handle_new_losses(job);
  const auto error = job.engine->closed_source(
      communicator.context, source == MPI_ANY_SOURCE ? wire::kAnySource : source);
  return error ? raise(communicator.handle, function, *error) : MPI_SUCCESS;
}

/// Polls both sides in turn, and begins with the other side each time.
int look(Job& job, const Communicator& communicator, const char* function, int source, int tag,
         bool* found, MPI_Status* status) {
  static thread_local bool remote_first = false;
  remote_first = !remote_first;
  *found = false;
  int code = MPI_SUCCESS;
  for (const bool remote : {remote_first, !remote_first}) {
    if (remote && may_be_remote(communicator, source))
      *found = look_remote(job, communicator, source, tag, status);
    if (!remote && may_be_native(communicator, source))
      code = look_native(communicator, source, tag, found, status);
    if (*found || code != MPI_SUCCESS) return code;
  }
  return check_lost(job, communicator, function, source);
}

int take_native(Job& job, Communicator& communicator, int source, int tag, MPI_Message* message,
                MPI_Status* status) {
  const int local = source == MPI_ANY_SOURCE
                        ? MPI_ANY_SOURCE
                        : communicator.local_ranks[static_cast<std::size_t>(source)];
  int flag = 0;
  MPI_Status native_status{};
  MPI_Message native = MPI_MESSAGE_NULL;
  const int code = vendor::Improbe(local, tag, communicator.handle, &flag, &native, &native_status);
  if (code != MPI_SUCCESS || flag == 0) return code;
  translate_source(communicator, native_status);
  copy_status(status, native_status);
  *message = job.messages.keep(communicator, native, nullptr);
  return code;
}

bool take_remote(Job& job, Communicator& communicator, int source, int tag, MPI_Message* message,
                 MPI_Status* status) {
  wire::Envelope envelope;
  auto taken = job.engine->match_probe(communicator.context,
                                       source == MPI_ANY_SOURCE ? wire::kAnySource : source,
                                       tag == MPI_ANY_TAG ? wire::kAnyTag : tag, envelope);
  if (taken == nullptr) return false;
  set_remote_status(status, envelope);
  *message = job.messages.keep(communicator, MPI_MESSAGE_NULL, std::move(taken));
  return true;
}

int take(Job& job, Communicator& communicator, const char* function, int source, int tag,
         MPI_Message* message, MPI_Status* status) {
  static thread_local bool remote_first = false;
  remote_first = !remote_first;
  int code = MPI_SUCCESS;
  for (const bool remote : {remote_first, !remote_first}) {
    if (remote && may_be_remote(communicator, source))
      take_remote(job, communicator, source, tag, message, status);
    if (!remote && may_be_native(communicator, source))
      code = take_native(job, communicator, source, tag, message, status);
    if (*message != MPI_MESSAGE_NULL || code != MPI_SUCCESS) return code;
  }
  return check_lost(job, communicator, function, source);
}

}  // namespace

namespace calls {

int Iprobe(Job& job, int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  Communicator* communicator = spanning(&job, comm);
  if (communicator == nullptr) return vendor::Iprobe(source, tag, comm, flag, status);
  int code = check_receive(job, *communicator, "MPI_Iprobe", 0, MPI_BYTE, source, tag);
  if (code != MPI_SUCCESS) return code;
  bool found = source == MPI_PROC_NULL;
  if (found) set_empty_status(status, MPI_PROC_NULL);
  if (!found) code = look(job, *communicator, "MPI_Iprobe", source, tag, &found, status);
  if (!found && code == MPI_SUCCESS && progress_for(job, *communicator, source))
    code = look(job, *communicator, "MPI_Iprobe", source, tag, &found, status);
  *flag = found ? 1 : 0;
  return code;
}

int Probe(Job& job, int source, int tag, MPI_Comm comm, MPI_Status* status) {
  Communicator* communicator = spanning(&job, comm);
  if (communicator == nullptr) {
    if (job.may_block_in_vendor()) return vendor::Probe(source, tag, comm, status);
    int code = MPI_SUCCESS;
    drive_until(job, true, [&] {
      int flag = 0;
      code = vendor::Iprobe(source, tag, comm, &flag, status);
      return code != MPI_SUCCESS || flag != 0;
    });
    return code;
  }
  int code = check_receive(job, *communicator, "MPI_Probe", 0, MPI_BYTE, source, tag);
  if (code != MPI_SUCCESS) return code;
  if (source == MPI_PROC_NULL) {
    set_empty_status(status, MPI_PROC_NULL);
    return MPI_SUCCESS;
  }
  bool found = false;
  drive_until(job, may_be_native(*communicator, source), [&] {
    code = look(job, *communicator, "MPI_Probe", source, tag, &found, status);
    return found || code != MPI_SUCCESS;
  });
  return code;
}

int Improbe(Job& job, int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message,
            MPI_Status* status) {
  Communicator* communicator = spanning(&job, comm);
  if (communicator == nullptr) return vendor::Improbe(source, tag, comm, flag, message, status);
  int code = check_receive(job, *communicator, "MPI_Improbe", 0, MPI_BYTE, source, tag);
  if (code != MPI_SUCCESS) return code;
  *message = MPI_MESSAGE_NULL;
  if (source == MPI_PROC_NULL) {
    *message = MPI_MESSAGE_NO_PROC;
    set_empty_status(status, MPI_PROC_NULL);
  } else {
    code = take(job, *communicator, "MPI_Improbe", source, tag, message, status);
    if (*message == MPI_MESSAGE_NULL && code == MPI_SUCCESS &&
        progress_for(job, *communicator, source))
      code = take(job, *communicator, "MPI_Improbe", source, tag, message, status);
  }
  *flag = *message != MPI_MESSAGE_NULL ? 1 : 0;
  return code;
}

int Mprobe(Job& job, int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  Communicator* communicator = spanning(&job, comm);
  if (communicator == nullptr && job.may_block_in_vendor())
    return vendor::Mprobe(source, tag, comm, message, status);
  int code = MPI_SUCCESS;
  if (communicator == nullptr) {
    drive_until(job, true, [&] {
      int flag = 0;
      code = vendor::Improbe(source, tag, comm, &flag, message, status);
      return code != MPI_SUCCESS || flag != 0;
    });
    return code;
  }
  code = check_receive(job, *communicator, "MPI_Mprobe", 0, MPI_BYTE, source, tag);
  if (code != MPI_SUCCESS) return code;
  *message = MPI_MESSAGE_NULL;
  if (source == MPI_PROC_NULL) {
    *message = MPI_MESSAGE_NO_PROC;
    set_empty_status(status, MPI_PROC_NULL);
    return MPI_SUCCESS;
  }
  drive_until(job, may_be_native(*communicator, source), [&] {
    code = take(job, *communicator, "MPI_Mprobe", source, tag, message, status);
    return *message != MPI_MESSAGE_NULL || code != MPI_SUCCESS;
  });
  return code;
}

int Imrecv(Job& job, void* buf, int count, MPI_Datatype datatype, MPI_Message* message,
           MPI_Request* handle) {
  if (!is_own_message(*message)) return vendor::Imrecv(buf, count, datatype, message, handle);
  KeptMessage kept = job.messages.take(*message);
  RequestPool& pool = request_pool();
  Request& request = pool.acquire(kept.communicator, "MPI_Imrecv");
  kept.communicator->pending.fetch_sub(1, std::memory_order_release);
  *message = MPI_MESSAGE_NULL;
  request.kind = kept.remote == nullptr ? &vendor_receive() : &engine_receive();
  request.begin();
  int code = MPI_SUCCESS;
  if (kept.remote == nullptr) {
    code = vendor::Imrecv(buf, count, datatype, &kept.native, &request.vendor.request);
  } else {
    code = describe_buffer("MPI_Imrecv", buf, count, datatype, request.receive.buffer);
    if (code == MPI_SUCCESS) job.engine->start_matched(request.receive, std::move(kept.remote));
  }
  if (code != MPI_SUCCESS) {
    const MPI_Comm comm = request.comm();
    pool.release(request);
    return raise_if_own(comm, code);
  }
  *handle = pool.handle_of(request);
  return MPI_SUCCESS;
}

int Mrecv(Job& job, void* buf, int count, MPI_Datatype datatype, MPI_Message* message,
          MPI_Status* status) {
  if (!is_own_message(*message) && job.may_block_in_vendor())
    return vendor::Mrecv(buf, count, datatype, message, status);
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = Imrecv(job, buf, count, datatype, message, &request);
  return code == MPI_SUCCESS ? Wait(&request, status) : code;
}

}  // namespace calls
}  // namespace impishim::shim
