// SPDX-License-Identifier: Apache-2.0
#include "shim/completion/wait_all.hpp"

#include <algorithm>
#include <cstddef>

#include "shim/completion/completion.hpp"
#include "shim/error/errors.hpp"
#include "shim/handle/own_handle.hpp"
#include "shim/job/job.hpp"
#include "shim/request/request.hpp"
#include "shim/request/status.hpp"

namespace impishim::shim {
namespace {

/// Returns the own request behind a handle, or null.
const Request* own_request(MPI_Request handle) {
  return is_own_request(handle) ? &request_pool().at(handle) : nullptr;
}

}  // namespace

AllOf::AllOf(Job& job, int count, MPI_Request* requests)
    : job_(job),
      requests_(requests),
      memory_(static_cast<std::size_t>(std::max(count, 0))),
      parts_(memory_.all()) {}

bool AllOf::step() {
  bool vendor_pending = false;
  bool engine_pending = false;
  while (first_ < parts_.size() && parts_[first_].done) ++first_;
  bool all = true;
  for (std::size_t i = first_; i < parts_.size(); ++i) {
    if (parts_[i].done) continue;
    // Testing one native request makes progress on all of them, and testing an engine request makes
    // no progress. Requests behind a pending one of the same kind therefore wait for their turn.
    const Request* own = own_request(requests_[i]);
    const bool engines = own != nullptr && own->moves_by_itself();
    if ((own == nullptr && vendor_pending) || (engines && engine_pending)) continue;
    if (engines ? finish_if_done(i, *own) : test(i)) continue;
    all = false;
    vendor_pending = vendor_pending || own == nullptr;
    engine_pending = engine_pending || engines;
    if (engines && all_move_by_themselves()) break;
  }
  return all;
}

/// Returns true if the engine alone completes all remaining requests. Computed once, since their
/// number only shrinks.
bool AllOf::all_move_by_themselves() {
  if (!all_move_by_themselves_) {
    const auto rest = std::span(requests_, parts_.size()).subspan(first_);
    all_move_by_themselves_ = std::ranges::all_of(rest, [](MPI_Request request) {
      const Request* own = own_request(request);
      return own == nullptr ? request == MPI_REQUEST_NULL : own->moves_by_itself();
    });
  }
  return *all_move_by_themselves_;
}

int AllOf::finish(MPI_Status* statuses, const char* function) {
  if (statuses != MPI_STATUSES_IGNORE) {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      copy_status(&statuses[i], parts_[i].status);
      if (failed_) statuses[i].MPI_ERROR = parts_[i].code;
    }
  }
  if (!failed_) return MPI_SUCCESS;
  const auto first = std::find_if(parts_.begin(), parts_.end(),
                                  [](const Part& part) { return part.code != MPI_SUCCESS; });
  const auto text = own_error_text(first->code);
  return raise_code(comm_, MPI_ERR_IN_STATUS, text ? *text : function);
}

bool AllOf::test(std::size_t i) {
  const MPI_Comm comm = comm_of(requests_[i]);
  const TestResult result = test_handle(job_, &requests_[i], &parts_[i].status);
  if (result.done) over(i, result.code, comm);
  return result.done;
}

bool AllOf::finish_if_done(std::size_t i, const Request& request) {
  if (!request.engine_is_done()) return false;
  const MPI_Comm comm = request.comm();
  over(i, finish_request(job_, &requests_[i], &parts_[i].status), comm);
  return true;
}

void AllOf::over(std::size_t i, int code, MPI_Comm comm) {
  parts_[i].done = true;
  if (code == MPI_SUCCESS) return;
  // The call raises one error for all: on the communicator of the last request that failed.
  parts_[i].code = code;
  comm_ = comm;
  failed_ = true;
}

}  // namespace impishim::shim
