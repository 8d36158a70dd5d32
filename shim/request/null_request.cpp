// SPDX-License-Identifier: Apache-2.0
#include "shim/request/null_request.hpp"

#include "shim/job/job.hpp"
#include "shim/request/request.hpp"
#include "shim/request/status.hpp"

namespace impishim::shim {
namespace {

class NullRequest final : public RequestKind {
 public:
  using RequestKind::RequestKind;
  int start(Job& /*job*/, Request& request) const override {
    request.begin();
    return MPI_SUCCESS;
  }
  bool advance(Job& /*job*/, Request& request) const override { return request.end(); }
  int read_status(Job& /*job*/, Request& /*request*/, MPI_Status* status) const override {
    set_empty_status(status, traits().receives ? MPI_PROC_NULL : MPI_ANY_SOURCE);
    return MPI_SUCCESS;
  }
  int cancel(Job& /*job*/, Request& /*request*/) const override { return MPI_SUCCESS; }
  bool waits_in_vendor(Request& /*request*/) const override { return false; }
};

}  // namespace

const RequestKind& null_send() {
  static constexpr NullRequest kind({.receives = false});
  return kind;
}

const RequestKind& null_receive() {
  static constexpr NullRequest kind({.receives = true});
  return kind;
}

}  // namespace impishim::shim
