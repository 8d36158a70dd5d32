// SPDX-License-Identifier: Apache-2.0
#include "shim/rma/rma_request.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "shim/error/errors.hpp"
#include "shim/job/job.hpp"
#include "shim/request/request.hpp"
#include "shim/request/status.hpp"
#include "shim/rma/access.hpp"
#include "shim/rma/outstanding_requests.hpp"
#include "shim/rma/window.hpp"
#include "shim/rma/window_error.hpp"

namespace impishim::shim {
namespace {

struct RmaPart {
  std::shared_ptr<Window> window;
  std::shared_ptr<AskedRequest> asked;
  std::uint64_t ticket;
};

RmaPart& part_of(const Request& request) { return *static_cast<RmaPart*>(request.part.get()); }

class RmaRequest final : public RequestKind {
 public:
  constexpr RmaRequest() : RequestKind({}) {}

  /// Is not called: there is no persistent form.
  int start(Job& /*job*/, Request& request) const override {
    return error_code(MPI_ERR_REQUEST, request.function, "the request is not persistent");
  }

  bool advance(Job& job, Request& request) const override {
    return advance_locked(request, [&] {
      const RmaPart& part = part_of(request);
      if (part.asked == nullptr)
        return part.ticket == 0 || one_sided(job).service().sent(part.ticket);
      return part.asked->answer.complete();
    });
  }

  int read_status(Job& /*job*/, Request& request, MPI_Status* status) const override {
    set_empty_status(status, MPI_ANY_SOURCE);
    const RmaPart& part = part_of(request);
    // An error behind the window's end was raised by the call that has ended it.
    if (part.asked == nullptr || part.window->freed.load(std::memory_order_relaxed))
      return MPI_SUCCESS;
    return raise_status(part.window->handle, part.asked->answer.status(), request.function);
  }

  int cancel(Job& /*job*/, Request& request) const override {
    return raise_on_window(part_of(request).window->handle, MPI_ERR_REQUEST, "MPI_Cancel",
                           "requests of one-sided communication cannot be cancelled");
  }

  bool waits_in_vendor(Request& /*request*/) const override { return true; }
};

const RequestKind& rma_request() {
  static constexpr RmaRequest kind;
  return kind;
}

}  // namespace

void make_rma_request(const AccessCall& call, std::shared_ptr<AskedRequest> asked,
                      std::uint64_t ticket) {
  Request& request = request_pool().acquire(&call.window.communicator, call.function);
  request.kind = &rma_request();
  request.begin();
  request.part = std::make_shared<RmaPart>(
      RmaPart{one_sided(call.job).share(call.window), std::move(asked), ticket});
  *call.request = request_pool().handle_of(request);
}

}  // namespace impishim::shim
