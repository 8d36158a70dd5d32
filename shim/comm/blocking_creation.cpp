// SPDX-License-Identifier: Apache-2.0
#include "shim/comm/blocking_creation.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>

#include "shim/coll/collective_queue.hpp"
#include "shim/completion/wait.hpp"
#include "shim/error/errors.hpp"
#include "shim/group/group.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "shim/values/failure_notice.hpp"
#include "shim/values/rank_list.hpp"
#include "shim/vendor.hpp"

namespace impishim::shim {

int greatest_among(Job& job, MPI_Comm among, std::uint64_t& value) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int code =
      vendor::Iallreduce(MPI_IN_PLACE, &value, 1, MPI_UINT64_T, MPI_MAX, among, &request);
  return code == MPI_SUCCESS ? poll_native(job, request) : code;
}

namespace {

/// A reduction that this process may have to give up.
struct LocalReduction {
  std::uint64_t value = 0;
  MPI_Request request = MPI_REQUEST_NULL;
};

/// The GreatestOfLocal among the local members of `parent`.
int greatest_unless_left(Job& job, const Communicator& parent, std::uint64_t& value) {
  const MPI_Comm among = parent.inter == nullptr ? parent.companion : parent.inter->both->handle;
  const auto reduction = std::make_shared<LocalReduction>();
  reduction->value = value;
  int code = vendor::Iallreduce(MPI_IN_PLACE, &reduction->value, 1, MPI_UINT64_T, MPI_MAX, among,
                                &reduction->request);
  if (code != MPI_SUCCESS) return code;
  bool left = false;
  drive_until(job, true, [&] {
    int flag = 0;
    code = vendor::Test(&reduction->request, &flag, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS || flag != 0) return true;
    left = parent.broken.load(std::memory_order_acquire) &&
           job.failure_notices.was_left(job, parent.context);
    return left;
  });
  value = reduction->value;
  if (!left) return code;
  // The vendor may write to it until the job ends. A broken communicator has no further ones.
  job.failure_notices.keep(reduction);
  const FailureNotice cause = parent.collectives->what_broke();
  return raise(parent.handle, cause.error_class, "the creation of a communicator", cause.text);
}

}  // namespace

void leave_creation(Job& job, const Communicator& parent) {
  if (!parent.broken.load(std::memory_order_acquire) || !job.tells_failures) return;
  job.failure_notices.tell(job, parent,
                           {.context = parent.context,
                            .kind = FailureNotice::Kind::kLeft,
                            .error_class = MPI_ERR_OTHER,
                            .origin = job.here,
                            .text = {}});
}

BlockingCreation::BlockingCreation(Job& job, const GreatestOfLocal& greatest) : job_(job) {
  enter(greatest);
}

BlockingCreation::BlockingCreation(Job& job, const Communicator& parent) : job_(job) {
  enter([&](std::uint64_t& value) { return greatest_unless_left(job, parent, value); });
}

BlockingCreation::~BlockingCreation() { job_.creation_order.release(); }

namespace {

/// The maximum number of rounds in which new duplications start while a process with
/// MPI_THREAD_MULTIPLE waits for others. After that, other threads are assumed to start and
/// complete duplications without it and to continue doing so.
constexpr int kMostRounds = 16;

}  // namespace

/// While this process waits for a duplication of another process, all others must be free to start
/// theirs: it may be the same one. They are therefore held only during the query among the
/// processes, and after the answer that there is no duplication.
void BlockingCreation::enter(const GreatestOfLocal& greatest) {
  CreationOrder& order = job_.creation_order;
  for (int round = 1;; ++round) {
    const std::uint64_t latest = order.hold();
    std::uint64_t some = latest != 0 ? 1 : 0;
    code_ = greatest(some);
    if (code_ != MPI_SUCCESS || some == 0 || (job_.polls_collectives && round == kMostRounds))
      return;
    order.release();
    drive_until(job_, true, [&] { return order.over(latest); });
    std::uint64_t nothing = 0;
    code_ = greatest(nothing);
    if (code_ == MPI_SUCCESS) continue;
    static_cast<void>(order.hold());  // released by the destructor
    return;
  }
}

namespace {

thread_local int duplication_starts __attribute__((tls_model("initial-exec"))) = 0;

}  // namespace

DuplicationStart::DuplicationStart() { ++duplication_starts; }
DuplicationStart::~DuplicationStart() { --duplication_starts; }

void complete_duplications(Job& job) {
  if (duplication_starts != 0) return;
  CreationOrder& order = job.creation_order;
  for (int round = 1; !job.polls_collectives || round <= kMostRounds; ++round) {
    const std::uint64_t latest = order.latest();
    if (latest == 0) return;
    drive_until(job, true, [&] { return order.over(latest); });
  }
}

int greatest_of_native(Job& job, MPI_Comm comm, std::uint64_t& value) {
  int inter = 0;
  int code = vendor::Comm_test_inter(comm, &inter);
  if (code != MPI_SUCCESS || inter == 0)
    return code == MPI_SUCCESS ? greatest_among(job, comm, value) : code;
  // In each round a group learns the maximum of the other group.
  std::uint64_t known = value;
  for (int round = 0; round < 2; ++round) {
    std::uint64_t theirs = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    code = vendor::Iallreduce(&known, &theirs, 1, MPI_UINT64_T, MPI_MAX, comm, &request);
    if (code == MPI_SUCCESS) code = poll_native(job, request);
    if (code != MPI_SUCCESS) return code;
    known = std::max(known, theirs);
  }
  value = known;
  return MPI_SUCCESS;
}

bool has_one_member(MPI_Comm comm) {
  if (comm == MPI_COMM_SELF) return true;
  int size = 0;
  int inter = 0;
  return comm != MPI_COMM_NULL && vendor::Comm_test_inter(comm, &inter) == MPI_SUCCESS &&
         inter == 0 && vendor::Comm_size(comm, &size) == MPI_SUCCESS && size == 1;
}

bool needs_agreement(Job& job, MPI_Comm parent) {
  // All members must come to the same answer, and not all need be connected with another job.
  if (job.map.at_start().clients().size() == 1 || parent == MPI_COMM_NULL) return false;
  int inter = 0;
  RankList members;
  if (vendor::Comm_test_inter(parent, &inter) != MPI_SUCCESS) return false;
  if (members_of_native(job, parent, false, members) != MPI_SUCCESS) return false;
  if (inter == 0) return std::ranges::find(members, kNoMember) == members.end();
  RankList remote;
  if (members_of_native(job, parent, true, remote) != MPI_SUCCESS) return false;
  return std::ranges::find(members, kNoMember) == members.end() &&
         std::ranges::find(remote, kNoMember) == remote.end();
}

}  // namespace impishim::shim
