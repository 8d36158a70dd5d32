// SPDX-License-Identifier: Apache-2.0
#include "shim/request/vendor_request.hpp"

#include <cstddef>

#include "shim/error/errors.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "shim/request/request.hpp"
#include "shim/request/status.hpp"
#include "shim/vendor.hpp"
#include "wire/base/mutex.hpp"

namespace impishim::shim {

int start_vendor_receive(Request& request, int source) {
  if (request.persistent) {
    request.vendor.request = request.vendor.persistent;
    return vendor::Start(&request.vendor.request);
  }
  return vendor::Irecv(request.arguments.receive_buffer, static_cast<int>(request.arguments.count),
                       request.arguments.datatype, source, request.arguments.tag,
                       request.communicator->handle, &request.vendor.request);
}

int code_of_vendor_part(const Request& request) {
  int cancelled = 0;
  if (request.error == MPI_SUCCESS && request.is_revoked())
    vendor::Test_cancelled(&request.vendor.status, &cancelled);
  return cancelled != 0 ? revoked_code(request.function) : request.error;
}

namespace {

/// Records that the native part of a request is complete: its status is the result.
void native_finished(Request& request, int code) {
  request.vendor.request = MPI_REQUEST_NULL;
  translate_source(*request.communicator, request.vendor.status);
  request.vendor.won = true;
  request.error = code;
}

class VendorReceive final : public RequestKind {
 public:
  constexpr VendorReceive() : RequestKind({.receives = true}) {}

  int start(Job& /*job*/, Request& request) const override {
    request.begin();
    return start_vendor_receive(
        request,
        request.communicator->local_ranks[static_cast<std::size_t>(request.arguments.peer)]);
  }

  bool advance(Job& /*job*/, Request& request) const override {
    return advance_locked(request, [&] {
      if (request.must_be_cancelled()) vendor::Cancel(&request.vendor.request);
      return test_vendor_part(request);
    });
  }

  int read_status(Job& /*job*/, Request& request, MPI_Status* status) const override {
    copy_status(status, request.vendor.status);
    return code_of_vendor_part(request);
  }

  int cancel(Job& /*job*/, Request& request) const override {
    const MutexLock lock(request.mutex);
    if (!request.done.load()) vendor::Cancel(&request.vendor.request);
    return MPI_SUCCESS;
  }

  bool waits_in_vendor(Request& /*request*/) const override { return true; }
};

}  // namespace

bool test_vendor_part(Request& request) {
  int flag = 0;
  const int code = vendor::Test(&request.vendor.request, &flag, &request.vendor.status);
  if (code == MPI_SUCCESS && flag == 0) return false;
  native_finished(request, code);
  return true;
}

const RequestKind& vendor_receive() {
  static constexpr VendorReceive kind;
  return kind;
}

}  // namespace impishim::shim
