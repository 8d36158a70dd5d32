// SPDX-License-Identifier: Apache-2.0
// MPI_Isendrecv and MPI_Isendrecv_replace (MPI-4.0 3.11).
#include "shim/entry_points.hpp"  // IWYU pragma: keep
#ifdef IMPISHIM_HAVE_MPI_Isendrecv

#include <array>
#include <cstddef>
#include <memory>
#include <utility>

#include "shim/completion/completion.hpp"
#include "shim/datatype/typed_copy.hpp"
#include "shim/error/errors.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "shim/pt2pt/send_receive.hpp"
#include "shim/request/request.hpp"
#include "shim/request/status.hpp"
#include "shim/vendor.hpp"

namespace impishim::shim {
namespace {

/// The receive and the send of an MPI_Isendrecv, each a request of its own.
struct SendrecvPart {
  std::array<MPI_Request, 2> requests;  ///< receive, send; a complete one is MPI_REQUEST_NULL
  MPI_Status status;                    ///< of the receive
  std::shared_ptr<TypedCopy> copy;      ///< what MPI_Isendrecv_replace sends
};

SendrecvPart& part_of(const Request& request) {
  return *static_cast<SendrecvPart*>(request.part.get());
}

class SendrecvRequest final : public RequestKind {
 public:
  constexpr SendrecvRequest() : RequestKind({.receives = true}) {}

  /// Is not called: MPI 4.0 has no persistent form.
  int start(Job& /*job*/, Request& request) const override {
    return error_code(MPI_ERR_REQUEST, request.function, "the request is not persistent");
  }

  bool advance(Job& job, Request& request) const override {
    return advance_locked(request, [&] { return test_both(job, request); });
  }

  int read_status(Job& /*job*/, Request& request, MPI_Status* status) const override {
    copy_status(status, part_of(request).status);
    return request.error;
  }

  int cancel(Job& job, Request& request) const override {
    for (MPI_Request& part : part_of(request).requests) {
      if (part != MPI_REQUEST_NULL) calls::Cancel(job, &part);
    }
    return MPI_SUCCESS;
  }

  bool waits_in_vendor(Request& /*request*/) const override { return true; }

 private:
  static bool test_both(Job& job, Request& request) {
    auto& [requests, status, copy] = part_of(request);
    bool both = true;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (requests[i] == MPI_REQUEST_NULL) continue;
      const TestResult part = test_handle(job, &requests[i], i == 0 ? &status : MPI_STATUS_IGNORE);
      both = both && part.done;
      if (part.code != MPI_SUCCESS) request.error = part.code;
    }
    return both;
  }
};

const RequestKind& sendrecv_request() {
  static constexpr SendrecvRequest kind;
  return kind;
}

}  // namespace

namespace calls {

int Isendrecv(Job& job, const void* sendbuf, int sendcount, MPI_Datatype sendtype, int dest,
              int sendtag, void* recvbuf, int recvcount, MPI_Datatype recvtype, int source,
              int recvtag, MPI_Comm comm, MPI_Request* handle) {
  Communicator* communicator = spanning(&job, comm);
  if (communicator == nullptr) {
    return vendor::Isendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount,
                             recvtype, source, recvtag, comm, handle);
  }
  std::array<MPI_Request, 2> pair{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  int code = Irecv(recvbuf, recvcount, recvtype, source, recvtag, comm, &pair[0]);
  if (code != MPI_SUCCESS) return code;
  code = Isend(sendbuf, sendcount, sendtype, dest, sendtag, comm, &pair[1]);
  if (code != MPI_SUCCESS) {
    cancel_receive(job, &pair[0]);
    return code;
  }
  Request& request = request_pool().acquire(communicator, "MPI_Isendrecv");
  request.kind = &sendrecv_request();
  request.begin();
  request.part = std::make_shared<SendrecvPart>(SendrecvPart{pair, {}, nullptr});
  *handle = request_pool().handle_of(request);
  return MPI_SUCCESS;
}

int Isendrecv_replace(Job& job, void* buf, int count, MPI_Datatype datatype, int dest, int sendtag,
                      int source, int recvtag, MPI_Comm comm, MPI_Request* handle) {
  if (spanning(&job, comm) == nullptr) {
    return vendor::Isendrecv_replace(buf, count, datatype, dest, sendtag, source, recvtag, comm,
                                     handle);
  }
  auto copied = TypedCopy::of(buf, count, datatype);
  if (!copied) return raise(comm, MPI_ERR_TYPE, "MPI_Isendrecv_replace", copied.error().text);
  auto copy = std::make_shared<TypedCopy>(std::move(copied).value());
  const int code = Isendrecv(job, copy->address(), count, datatype, dest, sendtag, buf, count,
                             datatype, source, recvtag, comm, handle);
  if (code == MPI_SUCCESS) part_of(request_pool().at(*handle)).copy = copy;
  return code;
}

}  // namespace calls
}  // namespace impishim::shim

#endif
