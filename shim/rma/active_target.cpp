// SPDX-License-Identifier: Apache-2.0
// Active target synchronisation: MPI_Win_fence, MPI_Win_post, MPI_Win_start, MPI_Win_complete,
// MPI_Win_wait, MPI_Win_test (MPI-4.0 12.5.1, 12.5.2).
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "shim/coll/collective.hpp"
#include "shim/coll/collective_arguments.hpp"
#include "shim/coll/collective_queue.hpp"
#include "shim/completion/wait.hpp"
#include "shim/entry_points.hpp"
#include "shim/error/errors.hpp"
#include "shim/error/refusal.hpp"
#include "shim/group/group.hpp"
#include "shim/handle/own_handle.hpp"
#include "shim/job/job.hpp"
#include "shim/native.hpp"
#include "shim/rma/outstanding_requests.hpp"
#include "shim/rma/synchronisation.hpp"
#include "shim/rma/window.hpp"
#include "shim/rma/window_error.hpp"
#include "shim/values/rank_list.hpp"
#include "shim/vendor.hpp"
#include "wire/base/mutex.hpp"
#include "wire/window/window_request.hpp"
#include "wire/window/window_service.hpp"

namespace impishim::shim {
namespace {

using wire::WindowRequestKind;

/// Tells each target how many requests it has been sent since the window was made. Returns the sum
/// of what this process has been sent.
int count_requests(Job& job, Window& window, const char* function, std::uint64_t& sent_here) {
  std::vector<std::uint64_t> counts;
  {
    const MutexLock lock(window.mutex);
    counts = window.outstanding.counts();
  }
  const int code = run_collective(job, window.communicator, function, [&](Collective& call) {
    return collective_arguments::Reduce_scatter_block(call, counts.data(), &sent_here, 1,
                                                      MPI_UINT64_T, MPI_SUM);
  });
  if (code == MPI_SUCCESS) return code;
  return raise_on_window(window.handle, vendor_error_class(code), function,
                         vendor_error_text(code));
}

int fence(Job& job, Window& window, int assertion) {
  constexpr const char* kFunction = "MPI_Win_fence";
  const char* mistake = nullptr;
  {
    const MutexLock lock(window.mutex);
    mistake = window.epochs.fence((assertion & MPI_MODE_NOSUCCEED) != 0);
  }
  if (mistake != nullptr) return raise_mistake(window, mistake, kFunction);
  const int flushed = flush_vendor(window, OutstandingRequests::kAllTargets);
  if (flushed != MPI_SUCCESS) return flushed;
  std::uint64_t sent_here = 0;
  if (const int code = count_requests(job, window, kFunction, sent_here); code != MPI_SUCCESS)
    return code;
  wire::WindowService& service = one_sided(job).service();
  drive_until(job, true, [&] { return service.applied(window.id()) >= sent_here; });
  service.pass_fence(window.id());
  // Members of this system access each other's memory by the vendor's MPI, past the service: none
  // may do so before the others' memory has what was sent to them.
  if (window.communicator.local_ranks.size() > 1) {
    if (const int code = native::Barrier(job, window.communicator.companion); code != MPI_SUCCESS)
      return raise_on_window(window.handle, vendor_error_class(code), kFunction,
                             vendor_error_text(code));
  }
  settle(job, window, OutstandingRequests::kAllTargets);
  {
    // The targets have applied all requests.
    const MutexLock lock(window.mutex);
    for (const std::int32_t each : window.outstanding.all_unflushed())
      window.outstanding.set_flushed(each);
  }
  const int synchronised = vendor::Win_sync(window.handle);
  return synchronised == MPI_SUCCESS ? raise_errors(job, window, kFunction) : synchronised;
}

/// Computes the ranks in the window of a group's members.
int ranks_in(Job& job, const Window& window, MPI_Group group, const char* function,
             std::vector<std::int32_t>& ranks) {
  RankList members;
  const int code = members_of(job, group, function, members);
  if (code != MPI_SUCCESS) return code;
  ranks = ranks_of(window.communicator.members, members);
  if (std::ranges::find(ranks, kNoMember) == ranks.end()) return MPI_SUCCESS;
  return raise_on_window(window.handle, MPI_ERR_GROUP, function,
                         "the group has processes that are not in the window's group");
}

void tell(Job& job, Window& window, std::int32_t rank, WindowRequestKind kind) {
  wire::WindowRequest request;
  request.kind = kind;
  request.window = window.id();
  one_sided(job).service().tell(window.communicator.world_rank(rank), request);
}

/// Returns true if each of `ranks` has told this more often than `used` says.
bool all_told(Job& job, const Window& window, const std::vector<std::int32_t>& ranks,
              WindowRequestKind kind, const std::vector<std::uint64_t>& used) {
  wire::WindowService& service = one_sided(job).service();
  return std::ranges::all_of(ranks, [&](std::int32_t rank) {
    return service.told(window.id(), window.communicator.world_rank(rank), kind) >
           used[static_cast<std::size_t>(rank)];
  });
}

/// Counts the posts or completes of `ranks` as used.
void use(const std::vector<std::int32_t>& ranks, std::vector<std::uint64_t>& used) {
  for (const std::int32_t rank : ranks) ++used[static_cast<std::size_t>(rank)];
}

int post(Job& job, Window& window, MPI_Group group, int assertion) {
  constexpr const char* kFunction = "MPI_Win_post";
  std::vector<std::int32_t> origins;
  if (const int code = ranks_in(job, window, group, kFunction, origins); code != MPI_SUCCESS)
    return code;
  const char* mistake = nullptr;
  {
    const MutexLock lock(window.mutex);
    mistake = window.epochs.post(origins);
  }
  if (mistake != nullptr) return raise_mistake(window, mistake, kFunction);
  if (const int code = vendor::Win_sync(window.handle); code != MPI_SUCCESS) return code;
  // The origins say MPI_MODE_NOCHECK as well, and do not wait.
  if ((assertion & MPI_MODE_NOCHECK) != 0) return MPI_SUCCESS;
  for (const std::int32_t origin : origins) tell(job, window, origin, WindowRequestKind::kPost);
  progress_once(job, true);
  return MPI_SUCCESS;
}

int start(Job& job, Window& window, MPI_Group group, int assertion) {
  constexpr const char* kFunction = "MPI_Win_start";
  std::vector<std::int32_t> targets;
  if (const int code = ranks_in(job, window, group, kFunction, targets); code != MPI_SUCCESS)
    return code;
  const bool unchecked = (assertion & MPI_MODE_NOCHECK) != 0;
  const char* mistake = nullptr;
  std::vector<std::uint64_t> used;
  {
    const MutexLock lock(window.mutex);
    mistake = window.epochs.start(targets);
    used = window.posts_used;
    if (mistake == nullptr && !unchecked) use(targets, window.posts_used);
  }
  if (mistake != nullptr) return raise_mistake(window, mistake, kFunction);
  if (!unchecked)
    drive_until(job, true,
                [&] { return all_told(job, window, targets, WindowRequestKind::kPost, used); });
  return MPI_SUCCESS;
}

int complete(Job& job, Window& window) {
  constexpr const char* kFunction = "MPI_Win_complete";
  std::vector<std::int32_t> targets;
  const char* mistake = nullptr;
  {
    const MutexLock lock(window.mutex);
    if (window.epochs.is_started()) targets = window.epochs.started();
    mistake = window.epochs.complete();
    // What ends the epoch comes behind all requests.
    for (const std::int32_t target : targets) window.outstanding.set_flushed(target);
  }
  if (mistake != nullptr) return raise_mistake(window, mistake, kFunction);
  for (const std::int32_t target : targets) {
    if (const int code = flush_vendor(window, target); code != MPI_SUCCESS) return code;
  }
  for (const std::int32_t target : targets) tell(job, window, target, WindowRequestKind::kComplete);
  for (const std::int32_t target : targets) settle(job, window, target);
  progress_once(job, true);
  return raise_errors(job, window, kFunction);
}

/// Ends an exposure epoch if all origins have ended theirs, or waits for that.
int end_exposure(Job& job, Window& window, const char* function, int* flag) {
  std::vector<std::int32_t> origins;
  std::vector<std::uint64_t> used;
  bool exposes = false;
  {
    const MutexLock lock(window.mutex);
    exposes = window.epochs.exposes();
    if (exposes) origins = window.epochs.posted();
    used = window.completes_used;
  }
  if (!exposes) return raise_mistake(window, "no epoch of MPI_Win_post is open", function);
  const auto over = [&] {
    return all_told(job, window, origins, WindowRequestKind::kComplete, used);
  };
  if (flag == nullptr) {
    drive_until(job, true, over);
  } else {
    progress_once(job, true);
    *flag = over() ? 1 : 0;
    if (*flag == 0) return MPI_SUCCESS;
  }
  const char* mistake = nullptr;
  {
    const MutexLock lock(window.mutex);
    use(origins, window.completes_used);
    mistake = window.epochs.wait();
  }
  if (mistake != nullptr) return raise_mistake(window, mistake, function);
  return vendor::Win_sync(window.handle);
}

}  // namespace

namespace calls {

int Win_fence(Job& job, int assertion, MPI_Win win) {
  Window* window = spanning_window(job, win);
  return window == nullptr ? native::Win_fence(job, assertion, win)
                           : fence(job, *window, assertion);
}

int Win_post(Job& job, MPI_Group group, int assertion, MPI_Win win) {
  Window* window = spanning_window(job, win);
  if (window != nullptr) return post(job, *window, group, assertion);
  if (is_own_group(group)) return refuse_group("MPI_Win_post");
  return vendor::Win_post(group, assertion, win);
}

int Win_start(Job& job, MPI_Group group, int assertion, MPI_Win win) {
  Window* window = spanning_window(job, win);
  if (window != nullptr) return start(job, *window, group, assertion);
  if (is_own_group(group)) return refuse_group("MPI_Win_start");
  return native::Win_start(job, group, assertion, win);
}

int Win_complete(Job& job, MPI_Win win) {
  Window* window = spanning_window(job, win);
  return window == nullptr ? native::Win_complete(job, win) : complete(job, *window);
}

int Win_wait(Job& job, MPI_Win win) {
  Window* window = spanning_window(job, win);
  return window == nullptr ? native::Win_wait(job, win)
                           : end_exposure(job, *window, "MPI_Win_wait", nullptr);
}

int Win_test(Job& job, MPI_Win win, int* flag) {
  Window* window = spanning_window(job, win);
  return window == nullptr ? vendor::Win_test(win, flag)
                           : end_exposure(job, *window, "MPI_Win_test", flag);
}

}  // namespace calls
}  // namespace impishim::shim
