// SPDX-License-Identifier: Apache-2.0
// MPI_Sendrecv and similar calls. They post a receive first and then send, so that two processes
// that do the same cannot block each other.
#include "shim/pt2pt/send_receive.hpp"
#include "shim/datatype/typed_copy.hpp"
#include "shim/entry_points.hpp"
#include "shim/error/errors.hpp"
#include "shim/job/job.hpp"
#include "shim/vendor.hpp"

namespace impishim::shim {

void cancel_receive(Job& job, MPI_Request* request) {
  calls::Cancel(job, request);
  calls::Wait(request, MPI_STATUS_IGNORE);
}

namespace calls {

int Sendrecv(Job& job, const void* sendbuf, int sendcount, MPI_Datatype sendtype, int dest,
             int sendtag, void* recvbuf, int recvcount, MPI_Datatype recvtype, int source,
             int recvtag, MPI_Comm comm, MPI_Status* status) {
  if (spanning(&job, comm) == nullptr && job.may_block_in_vendor()) {
    return vendor::Sendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount,
                            recvtype, source, recvtag, comm, status);
  }
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  int code = Irecv(recvbuf, recvcount, recvtype, source, recvtag, comm, &requests[0]);
  if (code != MPI_SUCCESS) return code;
  code = Isend(sendbuf, sendcount, sendtype, dest, sendtag, comm, &requests[1]);
  if (code != MPI_SUCCESS) {
    cancel_receive(job, &requests[0]);
    return code;
  }
  const int sent = Wait(&requests[1], MPI_STATUS_IGNORE);
  code = Wait(&requests[0], status);
  if (requests[0] != MPI_REQUEST_NULL) cancel_receive(job, &requests[0]);  // a pending failure
  return code != MPI_SUCCESS ? code : sent;
}

int Sendrecv_replace(Job& job, void* buf, int count, MPI_Datatype datatype, int dest, int sendtag,
                     int source, int recvtag, MPI_Comm comm, MPI_Status* status) {
  if (spanning(&job, comm) == nullptr && job.may_block_in_vendor()) {
    return vendor::Sendrecv_replace(buf, count, datatype, dest, sendtag, source, recvtag, comm,
                                    status);
  }
  auto copy = TypedCopy::of(buf, count, datatype);
  if (!copy) return raise(comm, MPI_ERR_TYPE, "MPI_Sendrecv_replace", copy.error().text);
  return Sendrecv(job, copy->address(), count, datatype, dest, sendtag, buf, count, datatype,
                  source, recvtag, comm, status);
}

}  // namespace calls
}  // namespace impishim::shim
