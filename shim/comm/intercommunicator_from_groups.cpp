// SPDX-License-Identifier: Apache-2.0
// MPI_Intercomm_create_from_groups (MPI-4.0 7.6.2).
#include "shim/entry_points.hpp"  // IWYU pragma: keep
#ifdef IMPISHIM_HAVE_MPI_Intercomm_create_from_groups

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "shim/comm/context.hpp"
#include "shim/comm/from_group.hpp"
#include "shim/comm/intercommunicator.hpp"
#include "shim/comm/named_meeting.hpp"
#include "shim/group/group.hpp"
#include "shim/job/job.hpp"
#include "shim/values/rank_list.hpp"

namespace impishim::shim {
namespace {

/// What a leader tells its own group. If `remote_size` is 0 there is no remote group.
struct Finding {
  std::uint64_t greatest;
  std::uint64_t remote_size;
};
static_assert(sizeof(Finding) == 2 * sizeof(std::uint64_t));

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
    std::uint64_t mine = propose_context(job_, is_leader_);
    Finding finding{0, 0};
    int code =
        calls::Reduce(job_, &mine, &finding.greatest, 1, MPI_UINT64_T, MPI_MAX, leader_, comm_);
    if (code != MPI_SUCCESS) return code;
    const int leaders_code = is_leader_ ? meet_other_leader(local, finding) : MPI_SUCCESS;
    code = calls::Bcast(job_, &finding, 2, MPI_UINT64_T, leader_, comm_);
    if (code != MPI_SUCCESS || leaders_code != MPI_SUCCESS)
      return leaders_code != MPI_SUCCESS ? leaders_code : code;
    if (finding.remote_size == 0)
      return raise_from_group(call_, MPI_ERR_OTHER, "the local leader found no remote group");
    code = tell_remote_group(finding.remote_size);
    if (code != MPI_SUCCESS) return code;
    return make_of_two_groups(job_, comm_, finding.greatest, {local, std::move(remote_)}, newcomm);
  }

 private:
  int meet_other_leader(const RankList& local, Finding& finding) {
    if (const int code = check_remote_group(local); code != MPI_SUCCESS) return code;
    std::uint64_t theirs = 0;
    const int code = swap_values(job_, remote_[static_cast<std::size_t>(remote_leader_)],
                                 meeting_name(MeetingPurpose::kLeaders, call_.stringtag),
                                 finding.greatest, theirs);
    if (code == MPI_SUCCESS) finding = {std::max(finding.greatest, theirs), remote_.size()};
    return code;
  }

  int check_remote_group(const RankList& local) {
    if (remote_group_ == MPI_GROUP_NULL)
      return raise_from_group(call_, MPI_ERR_GROUP, "the remote group is null");
    const int code = members_of(job_, remote_group_, call_.function, remote_);
    if (code != MPI_SUCCESS) return code;
    if (remote_leader_ < 0 || static_cast<std::size_t>(remote_leader_) >= remote_.size()) {
      return raise_from_group(
          call_, MPI_ERR_RANK,
          fmt::format("the remote leader is {} of {}", remote_leader_, remote_.size()));
    }
    if (intersection_of(local, remote_).empty()) return MPI_SUCCESS;
    return raise_from_group(call_, MPI_ERR_GROUP, "the two groups have processes in common");
  }

  int tell_remote_group(std::uint64_t size) {
    remote_.resize(size);
    return calls::Bcast(job_, remote_.data(), static_cast<int>(size), MPI_INT32_T, leader_, comm_);
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
