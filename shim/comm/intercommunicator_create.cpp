// SPDX-License-Identifier: Apache-2.0
// MPI_Intercomm_create, MPI_Intercomm_merge, and the forms of MPI_Comm_split and MPI_Comm_create
// for intercommunicators (IMPI 4.6, 4.8; MPI-3.1 6.4.2, 6.6.2).
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "collectives/collectives.hpp"
#include "collectives/core/data.hpp"
#include "collectives/core/task.hpp"
#include "shim/coll/collective.hpp"
#include "shim/coll/collective_queue.hpp"
#include "shim/comm/blocking_creation.hpp"
#include "shim/comm/communicator_make.hpp"
#include "shim/comm/context.hpp"
#include "shim/comm/intercommunicator.hpp"
#include "shim/comm/proc_names.hpp"
#include "shim/completion/wait.hpp"
#include "shim/entry_points.hpp"
#include "shim/error/errors.hpp"
#include "shim/error/refusal.hpp"
#include "shim/group/group.hpp"
#include "shim/job/job.hpp"
#include "shim/job/lost_systems.hpp"
#include "shim/native.hpp"
#include "shim/values/rank_list.hpp"
#include "shim/vendor.hpp"
#include "wire/message/operation.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::shim {
namespace {

constexpr const char* kCreate = "MPI_Intercomm_create";

/// The information about the remote group that a leader sends to its own group, as in IMPI: two
/// Uint8. If the size is 0 there is no remote group, and `greatest` is the reason.
struct Announcement {
  std::uint64_t greatest;
  std::uint64_t remote_size;
};
static_assert(sizeof(Announcement) == 2 * sizeof(std::uint64_t));
constexpr std::uint64_t kFailed = 0;
constexpr std::uint64_t kOutsideTheJob = 1;
/// Added to the size if the groups have processes of several jobs: then `greatest` is a random id,
/// and the leaders tell the names of the processes, since the jobs number them differently.
constexpr std::uint64_t kOfSeveralJobs = 1ULL << 32U;

/// Creates an intercommunicator of two groups that know each other.
class TwoGroupsCreation {
 public:
  TwoGroupsCreation(Job& job, MPI_Comm comm, TwoGroups groups)
      : job_(job), comm_(comm), spanning_(spanning(&job, comm)), groups_(std::move(groups)) {}

  int make(std::uint64_t greatest, MPI_Comm* newcomm) {
    const auto context = settle_context(job_, greatest);
    if (!context) return raise(comm_, kCreate, context.error());
    const BlockingCreation creation(
        job_, [&](std::uint64_t& value) { return greatest_of_both(*context, value); });
    MPI_Comm own = MPI_COMM_NULL;
    int code = creation.code();
    if (code == MPI_SUCCESS)
      // Contains the local members if it spans systems.
      code = vendor::Comm_split(comm_, 0, rank_of(groups_.local, job_.here), &own);
    if (code != MPI_SUCCESS) return code;
    return make_intercommunicator(
        job_, {own, comm_, *context, std::move(groups_.local), std::move(groups_.remote)}, newcomm);
  }

 private:
  /// A GreatestOfLocal of both groups, through their first local members.
  int greatest_of_both(wire::ContextId context, std::uint64_t& value) {
    const MPI_Comm among = spanning_ != nullptr ? spanning_->companion : comm_;
    int code = greatest_among(job_, among, value);
    const auto other = first_local(job_, groups_.remote);
    if (code != MPI_SUCCESS || !other) return code;
    const std::uint64_t mine = value;
    std::uint64_t theirs = 0;
    if (first_local(job_, groups_.local) == native_rank(job_, job_.here)) {
      code = swap_native(*other, handshake_tag(context), mine, theirs);
      if (code != MPI_SUCCESS) return raise_hidden_error(comm_, code);
    }
    value = std::max(mine, theirs);
    return greatest_among(job_, among, value);
  }

  int swap_native(int other, int tag, const std::uint64_t& mine, std::uint64_t& theirs) {
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int code = vendor::Irecv(&theirs, 1, MPI_UINT64_T, other, tag, job_.private_comm, &requests[0]);
    if (code == MPI_SUCCESS)
      code = vendor::Isend(&mine, 1, MPI_UINT64_T, other, tag, job_.private_comm, &requests[1]);
    if (code == MPI_SUCCESS) code = poll_native(job_, requests[0]);
    return code == MPI_SUCCESS ? poll_native(job_, requests[1]) : code;
  }

  Job& job_;
  MPI_Comm comm_;
  const Communicator* spanning_;
  TwoGroups groups_;
};

/// One side of MPI_Intercomm_create.
class Introduction {
 public:
  Introduction(Job& job, MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm,
               int remote_leader, int tag)
      : job_(job),
        comm_(local_comm),
        leader_(local_leader),
        peer_(peer_comm),
        remote_leader_(remote_leader),
        tag_(tag) {}

  int run(MPI_Comm* newcomm) {
    int code = check_group();
    if (code != MPI_SUCCESS) return code;
    // The vendor handles processes that were started later.
    if (std::ranges::find(local_, kNoMember) != local_.end()) return by_vendor(newcomm);
    std::uint64_t mine = propose_context(job_, rank_ == leader_, spanning_);
    Announcement announcement{0, 0};
    code = calls::Reduce(job_, &mine, &announcement.greatest, 1, MPI_UINT64_T, MPI_MAX, leader_,
                         comm_);
    if (code != MPI_SUCCESS) return code;
    int leaders_code = MPI_SUCCESS;
    if (rank_ == leader_) leaders_code = meet_other_leader(announcement);
    code = calls::Bcast(job_, &announcement, 2, MPI_UINT64_T, leader_, comm_);
    if (code != MPI_SUCCESS) return code;
    if (announcement.remote_size == 0)
      return without_remote_group(announcement.greatest, leaders_code, newcomm);
    code = (announcement.remote_size & kOfSeveralJobs) == 0
               ? learn_remote_group(announcement.remote_size)
               : learn_named_group(announcement.remote_size & ~kOfSeveralJobs);
    return code == MPI_SUCCESS
               ? make_of_two_groups(job_, comm_, announcement.greatest,
                                    {std::move(local_), std::move(remote_)}, newcomm)
               : code;
  }

 private:
  int check_group() {
    spanning_ = spanning(&job_, comm_);
    int inter = 0;
    int code = calls::Comm_test_inter(job_, comm_, &inter);
    if (code != MPI_SUCCESS) return code;
    if (inter != 0)
      return raise(comm_, MPI_ERR_COMM, kCreate, "the local communicator is an intercommunicator");
    code = calls::Comm_rank(job_, comm_, &rank_);
    if (code != MPI_SUCCESS) return code;
    if (spanning_ != nullptr) {
      local_ = spanning_->members;
    } else {
      code = members_of_native(job_, comm_, false, local_);
    }
    if (code != MPI_SUCCESS || (leader_ >= 0 && static_cast<std::size_t>(leader_) < local_.size()))
      return code;
    return raise(comm_, MPI_ERR_RANK, kCreate,
                 fmt::format("the local leader is {} of {}", leader_, local_.size()));
  }

  int by_vendor(MPI_Comm* newcomm) {
    return vendor::Intercomm_create(comm_, leader_, peer_, remote_leader_, tag_, newcomm);
  }

  /// Finds the world rank of the other leader; kNoMember if it is not in the job.
  int find_other_leader(wire::WorldRank& found) {
    RankList peers;
    int code = MPI_SUCCESS;
    if (const Communicator* peer = spanning(&job_, peer_)) {
      peers = peer->members;
    } else {
      int inter = 0;
      code = vendor::Comm_test_inter(peer_, &inter);
      if (code == MPI_SUCCESS) code = members_of_native(job_, peer_, inter != 0, peers);
    }
    if (code != MPI_SUCCESS) return code;
    if (remote_leader_ < 0 || static_cast<std::size_t>(remote_leader_) >= peers.size()) {
      return raise(peer_, MPI_ERR_RANK, kCreate,
                   fmt::format("the remote leader is {} of {}", remote_leader_, peers.size()));
    }
    found = peers[static_cast<std::size_t>(remote_leader_)];
    return MPI_SUCCESS;
  }

  template <class Value>
  int swap(const std::vector<Value>& mine, std::vector<Value>& theirs, MPI_Datatype type) {
    return calls::Sendrecv(job_, mine.data(), static_cast<int>(mine.size()), type, remote_leader_,
                           tag_, theirs.data(), static_cast<int>(theirs.size()), type,
                           remote_leader_, tag_, peer_, MPI_STATUS_IGNORE);
  }

  /// Exchanges the greatest ids and the sizes of the groups between the leaders. The message uses
  /// the peer communicator and the user's tag.
  int meet_other_leader(Announcement& announcement) {
    const std::uint64_t greatest = announcement.greatest;
    announcement = {kFailed, 0};
    wire::WorldRank other = kNoMember;
    int code = find_other_leader(other);
    if (code != MPI_SUCCESS) return code;
    if (other == kNoMember) {
      announcement.greatest = kOutsideTheJob;
      return MPI_SUCCESS;
    }
    const bool of_several_jobs =
        (spanning_ != nullptr && spanning_->connects_jobs) || has_other_jobs(job_, {other});
    const std::uint64_t mine = local_.size() | (of_several_jobs ? kOfSeveralJobs : 0);
    std::vector<std::uint64_t> theirs(2);
    code = swap<std::uint64_t>({greatest, mine}, theirs, MPI_UINT64_T);
    if (code != MPI_SUCCESS) return code;
    announcement = {std::max(greatest, theirs[0]), theirs[1] | (mine & kOfSeveralJobs)};
    return (announcement.remote_size & kOfSeveralJobs) == 0 ? code : choose_random_id(announcement);
  }

  /// Agrees with the other leader on a random id, for groups of several jobs.
  int choose_random_id(Announcement& announcement) {
    const std::uint64_t mine = random_context();
    std::vector<std::uint64_t> theirs(1);
    const int code = swap<std::uint64_t>({mine}, theirs, MPI_UINT64_T);
    announcement.greatest = std::max(mine, theirs[0]);
    if (code != MPI_SUCCESS) announcement = {kFailed, 0};
    return code;
  }

  int without_remote_group(std::uint64_t reason, int leaders_code, MPI_Comm* newcomm) {
    if (reason == kOutsideTheJob && spanning_ == nullptr) return by_vendor(newcomm);
    if (leaders_code != MPI_SUCCESS) return leaders_code;  // raised already
    if (reason == kOutsideTheJob) {
      return refuse(
          comm_, kCreate,
          "the remote leader was started later: it cannot meet processes of several systems");
    }
    return raise(comm_, MPI_ERR_OTHER, kCreate, "the leader could not reach the other group");
  }

  int learn_remote_group(std::uint64_t size) {
    std::vector<int> ranks(size);
    if (rank_ == leader_) {
      const int code = swap<int>({local_.begin(), local_.end()}, ranks, MPI_INT);
      if (code != MPI_SUCCESS) return code;
    }
    const int code =
        calls::Bcast(job_, ranks.data(), static_cast<int>(size), MPI_INT, leader_, comm_);
    if (code != MPI_SUCCESS) return code;
    remote_.assign(ranks.begin(), ranks.end());
    return check_overlap();
  }

  int check_overlap() {
    if (intersection_of(local_, remote_).empty()) return MPI_SUCCESS;
    return raise(comm_, MPI_ERR_COMM, kCreate, "the two groups have processes in common");
  }

  /// Learns the members of a remote group by their names. Each process of one group must know all
  /// of the other.
  int learn_named_group(std::uint64_t size) {
    std::vector<std::byte> names(size * kProcNameBytes);
    int code = MPI_SUCCESS;
    if (rank_ == leader_) code = swap(names_of(job_, local_), names, MPI_BYTE);
    if (code != MPI_SUCCESS) return code;
    code =
        calls::Bcast(job_, names.data(), static_cast<int>(names.size()), MPI_BYTE, leader_, comm_);
    if (code != MPI_SUCCESS) return code;
    remote_ = ranks_named(job_, names);
    int known = remote_.empty() ? 0 : 1;
    int known_to_all = 0;
    code = calls::Reduce(job_, &known, &known_to_all, 1, MPI_INT, MPI_MIN, leader_, comm_);
    if (code == MPI_SUCCESS && rank_ == leader_) {
      std::vector<int> theirs(1);
      code = swap<int>({known_to_all}, theirs, MPI_INT);
      known_to_all = std::min(known_to_all, theirs[0]);
    }
    if (code == MPI_SUCCESS) code = calls::Bcast(job_, &known_to_all, 1, MPI_INT, leader_, comm_);
    if (code != MPI_SUCCESS) return code;
    if (known_to_all != 0) return check_overlap();
    return raise(comm_, MPI_ERR_COMM, kCreate,
                 "a process of one group has no connection with one of the other, which belongs to "
                 "another job: connect them by MPI_Comm_accept and MPI_Comm_connect first");
  }

  Job& job_;
  MPI_Comm comm_;
  int leader_;
  MPI_Comm peer_;
  int remote_leader_;
  int tag_;
  const Communicator* spanning_ = nullptr;
  int rank_ = 0;
  RankList local_;
  RankList remote_;
};

/// A member's request: the colour of its part, and its key in that part.
struct Wish {
  int color;
  int key;
};

/// Collects the requests of all members of both groups, in the order of their union.
int gather_wishes(Job& job, Communicator& parent, const char* function, const Wish& mine,
                  std::vector<Wish>& all) {
  all.resize(static_cast<std::size_t>(parent.inter->both->size()));
  return run_collective(
      job, parent, function, [&](Collective& call) -> std::optional<collectives::Task> {
        const collectives::Data one = call.data(&mine, 2, MPI_INT);
        const collectives::Data first = call.data(all.data(), 2, MPI_INT);
        std::vector<collectives::Data> blocks;
        for (std::size_t i = 0; i < all.size(); ++i)
          blocks.push_back(first.block(static_cast<std::int32_t>(i)));
        return collectives::allgather(call.inter()->both, one, call.keep(std::move(blocks)));
      });
}

/// Returns the members of a group that requested `color`, ordered by key and rank. The group's
/// requests start at index `first`.
RankList wished_by(const RankList& group, const std::vector<Wish>& wishes, std::int32_t first,
                   int color) {
  const auto wish = [&](std::size_t rank) -> const Wish& {
    return wishes[static_cast<std::size_t>(first) + rank];
  };
  std::vector<std::size_t> ranks;
  for (std::size_t rank = 0; rank < group.size(); ++rank) {
    if (wish(rank).color == color) ranks.push_back(rank);
  }
  std::ranges::stable_sort(ranks, {}, [&](std::size_t rank) { return wish(rank).key; });
  RankList members;
  for (const std::size_t rank : ranks) members.push_back(group[rank]);
  return members;
}

int regroup(Job& job, Communicator& parent, const char* function, Wish mine, MPI_Comm* newcomm) {
  std::vector<Wish> wishes;
  int code = gather_wishes(job, parent, function, mine, wishes);
  wire::ContextId context = 0;
  if (code == MPI_SUCCESS) code = agree_across(job, parent, function, kDuplicateTag, context);
  if (code != MPI_SUCCESS) return code;
  RankList local = wished_by(parent.own_group(), wishes, parent.inter->first_local, mine.color);
  RankList remote = wished_by(parent.members, wishes, parent.inter->first_remote, mine.color);
  // If the remote side is empty, there is no intercommunicator (MPI-3.1 6.4.2).
  const bool none = mine.color == MPI_UNDEFINED || remote.empty();
  const BlockingCreation creation(job, parent);
  MPI_Comm own = MPI_COMM_NULL;
  code = creation.code();
  if (code == MPI_SUCCESS)
    code = vendor::Comm_split(parent.inter->local->handle, none ? MPI_UNDEFINED : mine.color,
                              mine.key, &own);
  *newcomm = MPI_COMM_NULL;
  if (code != MPI_SUCCESS || none) return raise_hidden_error(parent.handle, code);
  return make_intercommunicator(
      job, {own, parent.handle, context, std::move(local), std::move(remote)}, newcomm);
}

}  // namespace

int make_of_two_groups(Job& job, MPI_Comm local_comm, std::uint64_t greatest, TwoGroups groups,
                       MPI_Comm* newcomm) {
  return TwoGroupsCreation(job, local_comm, std::move(groups)).make(greatest, newcomm);
}

int split_intercommunicator(Job& job, Communicator& parent, int color, int key, MPI_Comm* newcomm) {
  return regroup(job, parent, "MPI_Comm_split", {color, key}, newcomm);
}

int create_intercommunicator(Job& job, Communicator& parent, const RankList& group,
                             MPI_Comm* newcomm) {
  constexpr const char* kFunction = "MPI_Comm_create";
  if (!difference_of(group, parent.own_group()).empty()) {
    return fail_collective(parent, kFunction, MPI_ERR_GROUP,
                           "the group has processes that are not in the local group");
  }
  const std::int32_t rank = rank_of(group, job.here);
  return regroup(job, parent, kFunction, {rank == kNoMember ? MPI_UNDEFINED : 0, rank}, newcomm);
}

namespace calls {

int Intercomm_create(Job& job, MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm,
                     int remote_leader, int tag, MPI_Comm* newintercomm) {
  const Indivisible call(job);
  return Introduction(job, local_comm, local_leader, peer_comm, remote_leader, tag)
      .run(newintercomm);
}

int Intercomm_merge(Job& job, MPI_Comm intercomm, int high, MPI_Comm* newintracomm) {
  constexpr const char* kFunction = "MPI_Intercomm_merge";
  Communicator* parent = spanning(&job, intercomm);
  if (parent == nullptr) {
    return create_native(job, intercomm, [&] {
      return native::Intercomm_merge(job, intercomm, high, newintracomm);
    });
  }
  if (parent->inter == nullptr)
    return raise(intercomm, MPI_ERR_COMM, kFunction, "no intercommunicator");
  bool other_high = false;
  wire::ContextId context = 0;
  int code = agree_to_merge(job, *parent, high != 0, other_high, context);
  if (code != MPI_SUCCESS) return code;
  const RankList& local = parent->own_group();
  const RankList& remote = parent->members;
  const bool first = other_high != (high != 0) ? high == 0 : comes_first(job, local, remote);
  RankList members = first ? local : remote;
  members.insert(members.end(), first ? remote.begin() : local.begin(),
                 first ? remote.end() : local.end());
  const BlockingCreation creation(job, *parent);
  if (creation.code() != MPI_SUCCESS) return raise_hidden_error(intercomm, creation.code());
  code = vendor::Comm_split(intercomm, 0, rank_of(members, job.here), newintracomm);
  return code == MPI_SUCCESS
             ? make_communicator(job, intercomm, newintracomm, context, std::move(members))
             : code;
}

}  // namespace calls
}  // namespace impishim::shim
