// SPDX-License-Identifier: Apache-2.0
// MPI_Wait, MPI_Test and similar calls on arrays that mix native, own, inactive and null requests
// (MPI-3.1 3.7).
#include "shim/completion/completion.hpp"

#include <algorithm>

#include "shim/completion/wait.hpp"
#include "shim/completion/wait_all.hpp"
#include "shim/entry_points.hpp"
#include "shim/error/errors.hpp"
#include "shim/handle/own_handle.hpp"
#include "shim/job/job.hpp"
#include "shim/request/request.hpp"
#include "shim/request/status.hpp"
#include "shim/values/receive_sources.hpp"
#include "shim/vendor.hpp"

namespace impishim::shim {
namespace {

/// Returns true for null, and for an inactive persistent own request. Only MPI_Testany of the
/// vendor tells whether a native request is inactive.
bool is_inactive(MPI_Request request) {
  return request == MPI_REQUEST_NULL ||
         (is_own_request(request) && !request_pool().at(request).active);
}

}  // namespace

TestResult test_handle(Job& job, MPI_Request* handle, MPI_Status* status) {
  if (*handle == MPI_REQUEST_NULL) {
    set_empty_status(status, MPI_ANY_SOURCE);
    return {true, MPI_SUCCESS};
  }
  if (!is_own_request(*handle)) {
    int flag = 0;
    const CompletingSources sources(job.receive_sources, 1, handle);
    const int code = vendor::Test(handle, &flag, status);
    if (flag != 0) sources.name(0, status);
    return {flag != 0 || code != MPI_SUCCESS, code};
  }
  Request& request = request_pool().at(*handle);
  if (request.active && !test_request(job, request)) return {false, MPI_SUCCESS};
  return {true, finish_request(job, handle, status)};
}

MPI_Comm comm_of(MPI_Request request) {
  return is_own_request(request) ? request_pool().at(request).comm() : MPI_COMM_WORLD;
}

namespace {

/// Result of testing one request among others, which may turn out to be inactive.
struct ActiveResult {
  bool active = false;
  TestResult test;
};

ActiveResult test_active(Job& job, MPI_Request* handle, MPI_Status* status) {
  if (is_inactive(*handle)) return {};
  if (is_own_request(*handle)) return {true, test_handle(job, handle, status)};
  // The status of a completed send does not help: only MPI_Testany distinguishes an inactive
  // persistent request from a completed one.
  int index = MPI_UNDEFINED;
  int flag = 0;
  const CompletingSources sources(job.receive_sources, 1, handle);
  const int code = vendor::Testany(1, handle, &index, &flag, status);
  sources.name(index, status);
  if (code == MPI_SUCCESS && flag != 0 && index == MPI_UNDEFINED) return {};
  return {true, {flag != 0 || code != MPI_SUCCESS, code}};
}

/// Returns true if waiting for these requests can end inside the vendor's MPI.
bool vendor_may_complete(int count, const MPI_Request* requests) {
  return std::any_of(requests, requests + std::max(count, 0), [](MPI_Request request) {
    if (request == MPI_REQUEST_NULL) return false;
    if (!is_own_request(request)) return true;
    Request& own = request_pool().at(request);
    return own.kind->waits_in_vendor(own);
  });
}

/// Returns true if all can complete now: otherwise MPI_Testall must change nothing. Tests native
/// requests without completing them.
bool all_ready(Job& job, int count, MPI_Request* requests) {
  for (int i = 0; i < count; ++i) {
    if (requests[i] == MPI_REQUEST_NULL) continue;
    if (is_own_request(requests[i])) {
      Request& request = request_pool().at(requests[i]);
      if (request.active && !test_request(job, request)) return false;
      continue;
    }
    int flag = 0;
    if (vendor::Request_get_status(requests[i], &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
        flag == 0)
      return false;
  }
  return true;
}

/// Result of a search for any completed request.
struct AnyResult {
  int index = MPI_UNDEFINED;
  bool some_active = false;
  int code = MPI_SUCCESS;
  MPI_Comm comm = MPI_COMM_WORLD;
};

/// Completes one request. Begins the search at a different place each time, so that no request is
/// starved.
AnyResult test_any(Job& job, int count, MPI_Request* requests, MPI_Status* status) {
  static thread_local unsigned turn = 0;
  ++turn;
  AnyResult result;
  for (int step = 0; step < count; ++step) {
    const int i =
        static_cast<int>((turn + static_cast<unsigned>(step)) % static_cast<unsigned>(count));
    MPI_Status found{};
    const MPI_Comm comm = comm_of(requests[i]);
    const auto [active, test] = test_active(job, &requests[i], &found);
    if (!active) continue;
    result.some_active = true;
    if (!test.done) continue;
    result.index = i;
    result.code = test.code;
    result.comm = comm;
    copy_status(status, found);
    return result;
  }
  return result;
}

/// Completes all requests that are complete now. Returns the number of active ones; `outcount` and
/// the arrays are set as MPI_Testsome sets them.
int test_some(Job& job, int count, MPI_Request* requests, int* outcount, int* indices,
              MPI_Status* statuses, int* first_error, MPI_Comm* comm) {
  int active_count = 0;
  *outcount = 0;
  for (int i = 0; i < count; ++i) {
    MPI_Status found{};
    const MPI_Comm its_comm = comm_of(requests[i]);
    const auto [active, test] = test_active(job, &requests[i], &found);
    if (!active) continue;
    ++active_count;
    if (!test.done) continue;
    const bool first = test.code != MPI_SUCCESS && *first_error == MPI_SUCCESS;
    if (first) {
      *first_error = test.code;
      *comm = its_comm;
    }
    indices[*outcount] = i;
    if (statuses != MPI_STATUSES_IGNORE) {
      copy_status(&statuses[*outcount], found);
      // The error fields are set only if the call fails (MPI-3.1 3.2.5).
      if (first) {
        for (int j = 0; j < *outcount; ++j) statuses[j].MPI_ERROR = MPI_SUCCESS;
      }
      if (*first_error != MPI_SUCCESS) statuses[*outcount].MPI_ERROR = test.code;
    }
    ++*outcount;
  }
  return active_count;
}

int finish_some(int first_error, MPI_Comm comm, const char* function) {
  if (first_error == MPI_SUCCESS) return MPI_SUCCESS;
  const auto text = own_error_text(first_error);
  return raise_code(comm, MPI_ERR_IN_STATUS, text ? *text : function);
}

}  // namespace

namespace calls {

// Calls of MPI_Wait, MPI_Test and MPI_Waitall that the vendor can complete at once do not come
// here: fast_path.hpp.

int Wait(MPI_Request* handle, MPI_Status* status) {
  Job& job = running_job();
  if (!is_own_request(*handle) && job.may_block_in_vendor()) {
    const CompletingSources sources(job.receive_sources, 1, handle);
    const int code = vendor::Wait(handle, status);
    sources.name(0, status);
    return code;
  }
  const MPI_Comm comm = comm_of(*handle);
  TestResult result;
  drive_until(
      job, [&] { return vendor_may_complete(1, handle); },
      [&] {
        result = test_handle(job, handle, status);
        return result.done;
      });
  return raise_if_own(comm, result.code);
}

int Test(MPI_Request* handle, int* flag, MPI_Status* status) {
  Job& job = running_job();
  if (!is_own_request(*handle) && job.may_block_in_vendor()) {
    const CompletingSources sources(job.receive_sources, 1, handle);
    const int code = vendor::Test(handle, flag, status);
    if (*flag != 0) sources.name(0, status);
    return code;
  }
  job.engine->send_batches();
  const MPI_Comm comm = comm_of(*handle);
  TestResult result = test_handle(job, handle, status);
  if (!result.done) {
    // The vendor has made its own progress in the first test.
    if (!is_own_request(*handle)) {
      progress_for_vendor(job);
    } else if (progress_for_test(job)) {
      result = test_handle(job, handle, status);
    }
  }
  *flag = result.done ? 1 : 0;
  return result.done ? raise_if_own(comm, result.code) : MPI_SUCCESS;
}

int Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  Job& job = running_job();
  if (job.may_block_in_vendor() && job.receive_sources.take_in_turn(count, requests)) {
    const int code = vendor::Waitall(count, requests, statuses);
    finish_in_turn(code, job.receive_sources, count, requests, statuses);
    return code;
  }
  if (job.may_block_in_vendor() && !any_own_request(count, requests)) {
    CompletingSources sources(job.receive_sources, count, requests);
    const int code = vendor::Waitall(count, requests, statuses);
    sources.name_all(statuses);
    return code;
  }
  AllOf all(job, count, requests);
  drive_until(
      job, [&] { return vendor_may_complete(count, requests); }, [&] { return all.step(); });
  return all.finish(statuses, "MPI_Waitall");
}

int Testall(Job& job, int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  if (job.may_block_in_vendor() && !any_own_request(count, requests)) {
    CompletingSources sources(job.receive_sources, count, requests);
    const int code = vendor::Testall(count, requests, flag, statuses);
    if (*flag != 0) sources.name_all(statuses);
    return code;
  }
  job.engine->send_batches();
  bool ready = all_ready(job, count, requests);
  if (!ready) {
    ready = progress_for_test(job) && all_ready(job, count, requests);
  }
  *flag = ready ? 1 : 0;
  if (!ready) return MPI_SUCCESS;
  AllOf all(job, count, requests);
  drive_until(job, true, [&] { return all.step(); });
  return all.finish(statuses, "MPI_Testall");
}

int Waitany(Job& job, int count, MPI_Request* requests, int* index, MPI_Status* status) {
  if (job.may_block_in_vendor() && !any_own_request(count, requests)) {
    CompletingSources sources(job.receive_sources, count, requests);
    const int code = vendor::Waitany(count, requests, index, status);
    // MPICH leaves the status unchanged if no request is active.
    if (code == MPI_SUCCESS && *index == MPI_UNDEFINED) set_empty_status(status, MPI_ANY_SOURCE);
    sources.name_any(index, status);
    return code;
  }
  AnyResult result;
  drive_until(
      job, [&] { return vendor_may_complete(count, requests); },
      [&] {
        result = test_any(job, count, requests, status);
        return result.index != MPI_UNDEFINED || !result.some_active;
      });
  *index = result.index;
  if (result.index == MPI_UNDEFINED) set_empty_status(status, MPI_ANY_SOURCE);
  return raise_if_own(result.comm, result.code);
}

int Testany(Job& job, int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  if (job.may_block_in_vendor() && !any_own_request(count, requests)) {
    CompletingSources sources(job.receive_sources, count, requests);
    const int code = vendor::Testany(count, requests, index, flag, status);
    if (code == MPI_SUCCESS && *flag != 0 && *index == MPI_UNDEFINED)
      set_empty_status(status, MPI_ANY_SOURCE);
    sources.name_any(index, status);
    return code;
  }
  job.engine->send_batches();
  AnyResult result = test_any(job, count, requests, status);
  if (result.index == MPI_UNDEFINED && result.some_active && progress_for_test(job))
    result = test_any(job, count, requests, status);
  *index = result.index;
  *flag = result.index != MPI_UNDEFINED || !result.some_active ? 1 : 0;
  if (!result.some_active) set_empty_status(status, MPI_ANY_SOURCE);
  return raise_if_own(result.comm, result.code);
}

int Waitsome(Job& job, int incount, MPI_Request* requests, int* outcount, int* indices,
             MPI_Status* statuses) {
  if (job.may_block_in_vendor() && !any_own_request(incount, requests)) {
    const CompletingSources sources(job.receive_sources, incount, requests);
    const int code = vendor::Waitsome(incount, requests, outcount, indices, statuses);
    sources.name_some(outcount, indices, statuses);
    return code;
  }
  int active = 0;
  int first_error = MPI_SUCCESS;
  MPI_Comm comm = MPI_COMM_WORLD;
  drive_until(
      job, [&] { return vendor_may_complete(incount, requests); },
      [&] {
        active =
            test_some(job, incount, requests, outcount, indices, statuses, &first_error, &comm);
        return active == 0 || *outcount > 0;
      });
  if (active == 0) *outcount = MPI_UNDEFINED;
  return finish_some(first_error, comm, "MPI_Waitsome");
}

int Testsome(Job& job, int incount, MPI_Request* requests, int* outcount, int* indices,
             MPI_Status* statuses) {
  if (job.may_block_in_vendor() && !any_own_request(incount, requests)) {
    const CompletingSources sources(job.receive_sources, incount, requests);
    const int code = vendor::Testsome(incount, requests, outcount, indices, statuses);
    sources.name_some(outcount, indices, statuses);
    return code;
  }
  int first_error = MPI_SUCCESS;
  MPI_Comm comm = MPI_COMM_WORLD;
  job.engine->send_batches();
  int active = test_some(job, incount, requests, outcount, indices, statuses, &first_error, &comm);
  if (active > 0 && *outcount == 0 && progress_for_test(job)) {
    active = test_some(job, incount, requests, outcount, indices, statuses, &first_error, &comm);
  }
  if (active == 0) *outcount = MPI_UNDEFINED;
  return finish_some(first_error, comm, "MPI_Testsome");
}

int Request_free(Job& job, MPI_Request* handle) {
  if (!is_own_request(*handle)) {
    const CompletingSources sources(job.receive_sources, 1, handle);
    return vendor::Request_free(handle);
  }
  RequestPool& pool = request_pool();
  Request& request = pool.at(*handle);
  *handle = MPI_REQUEST_NULL;
  if (request.persistent && request.vendor.request != MPI_REQUEST_NULL && !request.active)
    vendor::Request_free(&request.vendor.request);
  request.persistent = false;
  if (request.active && !test_request(job, request)) {
    pool.orphan(request);
  } else {
    pool.release(request);
  }
  return MPI_SUCCESS;
}

int Request_get_status(Job& job, MPI_Request handle, int* flag, MPI_Status* status) {
  if (!is_own_request(handle)) {
    const int code = vendor::Request_get_status(handle, flag, status);
    if (*flag != 0 && status != MPI_STATUS_IGNORE)
      name_source(job.receive_sources.find(handle), *status);
    return code;
  }
  Request& request = request_pool().at(handle);
  bool done = !request.active || test_request(job, request);
  if (!done) done = progress_for_test(job) && test_request(job, request);
  *flag = done ? 1 : 0;
  return done ? raise_if_own(request.comm(), read_status(job, request, status)) : MPI_SUCCESS;
}

int Cancel(Job& job, MPI_Request* handle) {
  if (!is_own_request(*handle)) return vendor::Cancel(handle);
  Request& request = request_pool().at(*handle);
  if (!request.active)
    return raise(request.comm(), MPI_ERR_REQUEST, "MPI_Cancel", "the request is not active");
  return request.kind->cancel(job, request);
}

}  // namespace calls
}  // namespace impishim::shim
