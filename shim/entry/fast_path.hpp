// SPDX-License-Identifier: Apache-2.0
/// The fast paths of messages that stay inside this system: the bodies of the wrappers of the
/// `direct` functions (functions.txt).
///
/// A program's messages inside its system must cost what they cost without this library. A short
/// message takes no more than a few hundred instructions in the vendor's library. The wrapper
/// itself therefore checks whether a message stays inside, for MPI_COMM_WORLD without a table
/// lookup. If so, it jumps to the vendor's function with the wrapper's own arguments. All other
/// cases go to calls::X, which has the same signature.
#pragma once

#include "shim/entry_points.hpp"
#include "shim/handle/own_handle.hpp"
#include "shim/job/job.hpp"
#include "shim/pt2pt/receive.hpp"
#include "shim/vendor.hpp"

namespace impishim::shim {

/// Does one kind of blocking send: inside this system by the vendor's `blocking`, otherwise by
/// `elsewhere`.
template <auto blocking, auto elsewhere>
[[gnu::always_inline]] inline int send_inside(const Job& job, const void* buf, int count,
                                              MPI_Datatype datatype, int dest, int tag,
                                              MPI_Comm comm) {
  if (!ranks_inside.has(comm, dest) || !job.may_block_in_vendor_at_once()) [[unlikely]]
    return elsewhere(buf, count, datatype, dest, tag, comm);
  return blocking(buf, count, datatype, ranks_inside.local_rank(dest), tag, comm);
}

/// Starts a message that is not known to stay inside: without a job by the vendor's `start`,
/// unchanged; otherwise by `elsewhere`.
template <auto start, auto elsewhere, class... Arguments>
[[gnu::always_inline]] inline int start_elsewhere(Arguments... arguments) {
  return the_job.load(std::memory_order_acquire) == nullptr ? start(arguments...)
                                                            : elsewhere(arguments...);
}

/// Does one kind of nonblocking send. A function that only starts a message is called without
/// marking that the thread is inside the vendor. It returns at once, and calls no MPI function but
/// the user's error handlers.
template <auto start, auto elsewhere>
[[gnu::always_inline]] inline int isend_inside(const void* buf, int count, MPI_Datatype datatype,
                                               int dest, int tag, MPI_Comm comm,
                                               MPI_Request* request) {
  if (!ranks_inside.has(comm, dest)) [[unlikely]]
    return start_elsewhere<start, elsewhere>(buf, count, datatype, dest, tag, comm, request);
  return start(buf, count, datatype, ranks_inside.local_rank(dest), tag, comm, request);
}

namespace fast_path {

inline constexpr auto Send = send_inside<vendor::Send, calls::Send>;
inline constexpr auto Ssend = send_inside<vendor::Ssend, calls::Ssend>;
inline constexpr auto Rsend = send_inside<vendor::Rsend, calls::Rsend>;
inline constexpr auto Bsend = send_inside<vendor::Bsend, calls::Bsend>;
inline constexpr auto Isend = isend_inside<vendor::raw::Isend, calls::Isend>;
inline constexpr auto Issend = isend_inside<vendor::raw::Issend, calls::Issend>;
inline constexpr auto Irsend = isend_inside<vendor::raw::Irsend, calls::Irsend>;
inline constexpr auto Ibsend = isend_inside<vendor::raw::Ibsend, calls::Ibsend>;

inline int Recv(const Job& job, void* buf, int count, MPI_Datatype datatype, int source, int tag,
                MPI_Comm comm, MPI_Status* status) {
  if (!ranks_inside.has(comm, source) || !job.may_block_in_vendor_at_once()) [[unlikely]]
    return calls::Recv(buf, count, datatype, source, tag, comm, status);
  const int code =
      vendor::Recv(buf, count, datatype, ranks_inside.local_rank(source), tag, comm, status);
  if (status != MPI_STATUS_IGNORE) status->MPI_SOURCE = source;
  return code;
}

/// Starts a receive where sources must be translated. Not inlined, so that MPI_Irecv needs no stack
/// frame.
[[gnu::noinline]] inline int Irecv_renamed(void* buf, int count, MPI_Datatype datatype, int source,
                                           int tag, MPI_Comm comm, MPI_Request* request) {
  if (!ranks_inside.has_source(comm, source)) [[unlikely]]
    return start_elsewhere<vendor::raw::Irecv, calls::Irecv>(buf, count, datatype, source, tag,
                                                             comm, request);
  const int code =
      vendor::raw::Irecv(buf, count, datatype, ranks_inside.local_rank(source), tag, comm, request);
  if (code != MPI_SUCCESS) [[unlikely]]
    return code;
  running_job().receive_sources.put_of_world(*request);
  return MPI_SUCCESS;
}

inline int Irecv(void* buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                 MPI_Request* request) {
  if (ranks_inside.renames_sources())
    return Irecv_renamed(buf, count, datatype, source, tag, comm, request);
  if (!ranks_inside.has_source(comm, source)) [[unlikely]]
    return start_elsewhere<vendor::raw::Irecv, calls::Irecv>(buf, count, datatype, source, tag,
                                                             comm, request);
  return vendor::raw::Irecv(buf, count, datatype, source, tag, comm, request);
}

inline int Wait(const Job& job, MPI_Request* request, MPI_Status* status) {
  if (is_own_request(*request) || !job.may_complete_in_vendor_at_once()) [[unlikely]]
    return calls::Wait(request, status);
  return vendor::Wait(request, status);
}

inline int Test(const Job& job, MPI_Request* request, int* flag, MPI_Status* status) {
  if (is_own_request(*request) || !job.may_complete_in_vendor_at_once()) [[unlikely]]
    return calls::Test(request, flag, status);
  return vendor::Test(request, flag, status);
}

inline int Waitall(const Job& job, int count, MPI_Request* requests, MPI_Status* statuses) {
  if (!job.may_complete_in_vendor_at_once() || any_own_request(count, requests)) [[unlikely]]
    return calls::Waitall(count, requests, statuses);
  return vendor::Waitall(count, requests, statuses);
}

}  // namespace fast_path
}  // namespace impishim::shim
