// SPDX-License-Identifier: Apache-2.0
// MPI_Intercomm_create_from_groups (MPI-4.0 7.6.2).
#include "shim/entry_points.hpp"  // IWYU pragma: keep
#ifdef IMPISHIM_HAVE_MPI_Intercomm_create_from_groups

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "shim/comm/context.hpp"
#include "shim/comm/from_group.hpp"
#include "shim/comm/intercommunicator.hpp"
#include "shim/comm/named_meeting.hpp"
#include "shim/comm/proc_names.hpp"
#include "shim/group/group.hpp"
#include "shim/job/job.hpp"
#include "shim/job/lost_systems.hpp"
#include "shim/values/rank_list.hpp"

namespace impishim::shim {
namespace {

/// What a leader tells its own group. If `remote_size` is 0 there is no remote group.
struct Finding {
  std::uint64_t greatest;
  std::uint64_t remote_size;
  std::uint64_t several_jobs;  ///< 1 if the groups have processes of several jobs
};
static_assert(sizeof(Finding) == 3 * sizeof(std::uint64_t));

/// One side of the creation. The arguments about the remote group matter at the leader only.
class GroupsMeeting {
 public:
  GroupsMeeting(Job& job, const FromGroup& call, int leader, MPI_Group remote_group,
                int remote_leader)
      : job_(job),
        call_(call),
        leader_(leader),
        remote_group_(remote_group),
        remote_leader_(remote_leader) {}

  /// Creates the intercommunicator from `local_comm`, a communicator of `local`.
  int run(MPI_Comm local_comm, const RankList& local, MPI_Comm* newcomm) {
    comm_ = local_comm;
    is_leader_ = rank_of(local, job_.here) == leader_;
    std::uint64_t mine = propose_context(job_, is_leader_, spanning(&job_, comm_));
    Finding finding{0, 0, 0};
    int code =
        calls::Reduce(job_, &mine, &finding.greatest, 1, MPI_UINT64_T, MPI_MAX, leader_, comm_);
    if (code != MPI_SUCCESS) return code;
    const int leaders_code = is_leader_ ? meet_other_leader(local, finding) : MPI_SUCCESS;
    code = calls::Bcast(job_, &finding, 3, MPI_UINT64_T, leader_, comm_);
    if (code != MPI_SUCCESS || leaders_code != MPI_SUCCESS)
      return leaders_code != MPI_SUCCESS ? leaders_code : code;
    if (finding.remote_size == 0)
      return raise_from_group(call_, MPI_ERR_OTHER, "the local leader found no remote group");
    code = tell_remote_group(finding.remote_size);
    if (code == MPI_SUCCESS && finding.several_jobs != 0) code = check_connections();
    if (code != MPI_SUCCESS) return code;
    return make_of_two_groups(job_, comm_, finding.greatest, {local, std::move(remote_)}, newcomm);
  }

 private:
  int meet_other_leader(const RankList& local, Finding& finding) {
    if (const int code = check_remote_group(local); code != MPI_SUCCESS) return code;
    const bool several = has_other_jobs(job_, local) || has_other_jobs(job_, remote_);
    const std::uint64_t mine = several ? random_context() : finding.greatest;
    std::uint64_t theirs = 0;
    const int code = swap_with_other_leader(mine, theirs);
    if (code == MPI_SUCCESS)
      finding = {std::max(mine, theirs), remote_.size(), several ? std::uint64_t{1} : 0};
    return code;
  }

  int swap_with_other_leader(std::uint64_t mine, std::uint64_t& theirs) {
    return swap_values(job_, remote_[static_cast<std::size_t>(remote_leader_)],
                       meeting_name(MeetingPurpose::kLeaders, call_.stringtag), mine, theirs);
  }

  int check_remote_group(const RankList& local) {
    if (remote_group_ == MPI_GROUP_NULL)
      return raise_from_group(call_, MPI_ERR_GROUP, "the remote group is null");
    const int code = members_of(job_, remote_group_, call_.function, remote_);
    if (code != MPI_SUCCESS) return code;
    use_latest_ranks(job_, remote_);
    if (remote_leader_ < 0 || static_cast<std::size_t>(remote_leader_) >= remote_.size()) {
      return raise_from_group(
          call_, MPI_ERR_RANK,
          fmt::format("the remote leader is {} of {}", remote_leader_, remote_.size()));
    }
    if (intersection_of(local, remote_).empty()) return MPI_SUCCESS;
    return raise_from_group(call_, MPI_ERR_GROUP, "the two groups have processes in common");
  }

  /// Leaves `remote_` empty at a process that does not know one of the members.
  int tell_remote_group(std::uint64_t size) {
    std::vector<std::byte> names(size * kProcNameBytes);
    if (is_leader_) names = names_of(job_, remote_);
    const int code =
        calls::Bcast(job_, names.data(), static_cast<int>(names.size()), MPI_BYTE, leader_, comm_);
    remote_ = ranks_named(job_, names);
    return code;
  }

  /// Checks that each process of both groups knows all of the other group.
  int check_connections() {
    std::uint64_t known = remote_.empty() ? 0 : 1;
    std::uint64_t known_to_all = 0;
    int code = calls::Allreduce(job_, &known, &known_to_all, 1, MPI_UINT64_T, MPI_MIN, comm_);
    std::uint64_t known_to_others = 0;
    if (code == MPI_SUCCESS && is_leader_)
      code = swap_with_other_leader(known_to_all, known_to_others);
    if (code == MPI_SUCCESS)
      code = calls::Bcast(job_, &known_to_others, 1, MPI_UINT64_T, leader_, comm_);
    if (code != MPI_SUCCESS || (known_to_all != 0 && known_to_others != 0)) return code;
    return raise_from_group(
        call_, MPI_ERR_GROUP,
        "a process of one group has no connection with one of the other, which belongs to another "
        "job: connect them by MPI_Comm_accept and MPI_Comm_connect first");
  }

  Job& job_;
  const FromGroup& call_;
  int leader_;
  MPI_Group remote_group_;
  int remote_leader_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  bool is_leader_ = false;
  RankList remote_;
};

}  // namespace

namespace calls {

int Intercomm_create_from_groups(Job& job, MPI_Group local_group, int local_leader,
                                 MPI_Group remote_group, int remote_leader, const char* stringtag,
                                 MPI_Info info, MPI_Errhandler errhandler, MPI_Comm* newintercomm) {
  const FromGroup call{"MPI_Intercomm_create_from_groups", stringtag, info, errhandler};
  *newintercomm = MPI_COMM_NULL;
  const Indivisible in_progress(job);
  RankList local;
  int code = check_from_group(job, call, local_group, local);
  if (code != MPI_SUCCESS) return code;
  if (local_leader < 0 || static_cast<std::size_t>(local_leader) >= local.size()) {
    return raise_from_group(
        call, MPI_ERR_RANK,
        fmt::format("the local leader is {} of {}", local_leader, local.size()));
  }
  MPI_Comm local_comm = MPI_COMM_NULL;
  code = make_from_group(job, call, local, &local_comm);
  if (code != MPI_SUCCESS) return code;
  code = GroupsMeeting(job, call, local_leader, remote_group, remote_leader)
             .run(local_comm, local, newintercomm);
  const int freed = Comm_free(job, &local_comm);
  if (code == MPI_SUCCESS) code = freed;
  return code == MPI_SUCCESS ? set_up_from_group(call, *newintercomm) : code;
}

}  // namespace calls
}  // namespace impishim::shim
#endif
