// SPDX-License-Identifier: Apache-2.0
// MPI_Comm_*: construction and destruction of intracommunicators (IMPI 4.4-4.9, MPI-3.1 6.4.2,
// 6.4.3). The forms for intercommunicators are in intercommunicator_create.cpp.
//
// All members agree before any of them enters a blocking function of the vendor's. They are then
// all inside the call, so no member waits there for one that waits elsewhere for this process.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "shim/coll/collective.hpp"
#include "shim/coll/collective_arguments.hpp"
#include "shim/coll/collective_queue.hpp"
#include "shim/comm/blocking_creation.hpp"
#include "shim/comm/communicator_make.hpp"
#include "shim/comm/context.hpp"
#include "shim/comm/group_meeting.hpp"
#include "shim/comm/intercommunicator.hpp"
#include "shim/completion/wait.hpp"
#include "shim/entry_points.hpp"
#include "shim/error/errors.hpp"
#include "shim/group/group.hpp"
#include "shim/handle/own_handle.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "shim/native.hpp"
#include "shim/request/communicator_end.hpp"
#include "shim/request/request.hpp"
#include "shim/values/rank_list.hpp"
#include "shim/vendor.hpp"
#include "wire/message/operation.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::shim {
namespace {

/// A process's contribution to MPI_Comm_split in the form that IMPI sends: three MPI_INT.
struct SplitEntry {
  int color;
  int key;
  int rank;
};

RankList members_of_color(const Communicator& parent, std::vector<SplitEntry> entries, int color) {
  std::erase_if(entries, [&](const SplitEntry& entry) { return entry.color != color; });
  std::ranges::sort(entries, [](const SplitEntry& a, const SplitEntry& b) {
    return a.key != b.key ? a.key < b.key : a.rank < b.rank;
  });
  RankList members;
  members.reserve(entries.size());
  for (const SplitEntry& entry : entries) members.push_back(parent.world_rank(entry.rank));
  return members;
}

template <class Duplicate>
int duplicate(Job& job, Communicator& parent, MPI_Comm* newcomm, const char* function,
              Duplicate&& vendor_duplicate) {
  wire::ContextId context = 0;
  int code = parent.inter == nullptr ? agree_on_context(job, parent, function, context)
                                     : agree_across(job, parent, function, kDuplicateTag, context);
  if (code != MPI_SUCCESS) return code;
  const BlockingCreation creation(job, parent);
  code = creation.code();
  // The vendor copies the attributes of the user's handle.
  if (code == MPI_SUCCESS) code = vendor_duplicate();
  return code == MPI_SUCCESS ? make_duplicate(job, parent, newcomm, context) : code;
}

bool has_foreign_members(const Job& job, const Communicator& communicator) {
  const Communicator& all =
      communicator.inter == nullptr ? communicator : *communicator.inter->both;
  return std::ranges::any_of(all.masters, [&](std::int32_t master) {
    const wire::WorldRank proc = all.members[static_cast<std::size_t>(master)];
    return !job.map.client(job.map.proc(proc).client).impishim;
  });
}

int meet(Job& job, Communicator& communicator, const char* function) {
  return communicator.inter == nullptr
             ? run_collective(job, communicator, function, collective_arguments::Barrier)
             : meet_across(job, communicator, function);
}

/// Waits until the operations of this process are complete. All have been matched, or will be
/// before the process at the other end enters the call, too (MPI-3.1 10.5.4), so no process waits
/// in a circle.
void finish_communication(Job& job, const Communicator& communicator) {
  std::size_t first = 0;
  drive_until(job, true, [&] { return request_pool().all_over(job, communicator, first); });
}

/// The condition for a barrier of all members. IMPI requires one if other implementations take part
/// (IMPI 4.9).
enum class Meeting : std::uint8_t { kAlways, kWithForeign };

int free_communicator(Job& job, MPI_Comm* comm, const char* function, Meeting meeting,
                      int (*vendor_free)(MPI_Comm*)) {
  Communicator* freed = comm == nullptr ? nullptr : spanning(&job, *comm);
  // The vendor reports the error for freeing MPI_COMM_WORLD.
  if (freed == nullptr || *comm == MPI_COMM_WORLD) return vendor_free(comm);
  if (*comm == job.joined_world)
    return raise(*comm, MPI_ERR_COMM, function, "the joined world belongs to impishim");
  // Before the meeting: after it those of the others are over, too.
  if (meeting == Meeting::kAlways) finish_communication(job, *freed);
  if (meeting == Meeting::kAlways || has_foreign_members(job, *freed)) {
    if (const int code = meet(job, *freed, function); code != MPI_SUCCESS) return code;
  }
  MPI_Comm parent = *comm;
  const int code = end_communicator(job, *freed, comm, vendor_free);
  if (code == MPI_SUCCESS) job.parent.compare_exchange_strong(parent, MPI_COMM_NULL);
  return code;
}

bool is_part_of(const RankList& group, const Communicator& parent) {
  return difference_of(group, parent.members).empty();
}

int split(Job& job, Communicator& parent, int color, int key, MPI_Comm* newcomm) {
  constexpr const char* kFunction = "MPI_Comm_split";
  const SplitEntry mine{color, key, parent.rank};
  std::vector<SplitEntry> entries(static_cast<std::size_t>(parent.size()));
  int code = run_collective(job, parent, kFunction, [&](Collective& call) {
    return collective_arguments::Allgather(call, &mine, 3, MPI_INT, entries.data(), 3, MPI_INT);
  });
  if (code != MPI_SUCCESS) leave_creation(job, parent);
  wire::ContextId context = 0;
  if (code == MPI_SUCCESS) code = agree_on_context(job, parent, kFunction, context);
  if (code != MPI_SUCCESS) return code;
  const BlockingCreation creation(job, parent);
  code = creation.code();
  // Local ranks ascend with spanning ranks, so the vendor's order among equal keys is correct.
  if (code == MPI_SUCCESS) code = vendor::Comm_split(parent.handle, color, key, newcomm);
  if (code != MPI_SUCCESS || color == MPI_UNDEFINED) return code;
  return make_communicator(job, parent.handle, newcomm, context,
                           members_of_color(parent, std::move(entries), color));
}

int create(Job& job, Communicator& parent, const RankList& group, MPI_Comm* newcomm) {
  constexpr const char* kFunction = "MPI_Comm_create";
  if (!is_part_of(group, parent)) {
    return fail_collective(parent, kFunction, MPI_ERR_GROUP,
                           "the group has processes that are not in the communicator");
  }
  wire::ContextId context = 0;
  int code = agree_on_context(job, parent, kFunction, context);
  if (code != MPI_SUCCESS) return code;
  // Disjoint groups create one communicator each (MPI-3.1 6.4.2). Their first members tell them
  // apart.
  const std::int32_t rank = rank_of(group, job.here);
  const int color = rank == kNoMember ? MPI_UNDEFINED : rank_of(parent.members, group.front());
  const BlockingCreation creation(job, parent);
  code = creation.code();
  if (code == MPI_SUCCESS) code = vendor::Comm_split(parent.handle, color, rank, newcomm);
  if (code != MPI_SUCCESS || rank == kNoMember) return code;
  return make_communicator(job, parent.handle, newcomm, context, group);
}

}  // namespace

namespace calls {

int Comm_dup(Job& job, MPI_Comm comm, MPI_Comm* newcomm) {
  Communicator* parent = spanning(&job, comm);
  if (parent == nullptr)
    return create_native(job, comm, [&] { return native::Comm_dup(job, comm, newcomm); });
  return duplicate(job, *parent, newcomm, "MPI_Comm_dup",
                   [&] { return vendor::Comm_dup(comm, newcomm); });
}

int Comm_dup_with_info(Job& job, MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm) {
  Communicator* parent = spanning(&job, comm);
  if (parent == nullptr)
    return create_native(job, comm,
                         [&] { return native::Comm_dup_with_info(job, comm, info, newcomm); });
  return duplicate(job, *parent, newcomm, "MPI_Comm_dup_with_info",
                   [&] { return vendor::Comm_dup_with_info(comm, info, newcomm); });
}

int Comm_split(Job& job, MPI_Comm comm, int color, int key, MPI_Comm* newcomm) {
  Communicator* parent = spanning(&job, comm);
  if (parent == nullptr)
    return create_native(job, comm,
                         [&] { return native::Comm_split(job, comm, color, key, newcomm); });
  if (color < 0 && color != MPI_UNDEFINED)
    return fail_collective(*parent, "MPI_Comm_split", MPI_ERR_ARG, "the colour is negative");
  return parent->inter == nullptr ? split(job, *parent, color, key, newcomm)
                                  : split_intercommunicator(job, *parent, color, key, newcomm);
}

int Comm_create(Job& job, MPI_Comm comm, MPI_Group group, MPI_Comm* newcomm) {
  Communicator* parent = spanning(&job, comm);
  if (parent == nullptr && !is_own_group(group)) {
    return create_native(job, comm, [&] { return native::Comm_create(job, comm, group, newcomm); });
  }
  if (parent == nullptr) {
    return raise(comm, MPI_ERR_GROUP, "MPI_Comm_create",
                 "the group has processes that are not in the communicator");
  }
  RankList members;
  const int code = members_of(job, group, "MPI_Comm_create", members);
  if (code != MPI_SUCCESS) return code;
  return parent->inter == nullptr ? create(job, *parent, members, newcomm)
                                  : create_intercommunicator(job, *parent, members, newcomm);
}

int Comm_create_group(Job& job, MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* newcomm) {
  constexpr const char* kFunction = "MPI_Comm_create_group";
  Communicator* parent = spanning(&job, comm);
  if (parent == nullptr && !is_own_group(group))
    return make_native_of_group(job, comm, group, tag, newcomm);
  RankList members;
  if (const int code = members_of(job, group, kFunction, members); code != MPI_SUCCESS) return code;
  if (parent == nullptr || !is_part_of(members, *parent)) {
    return raise(comm, MPI_ERR_GROUP, kFunction,
                 "the group has processes that are not in the communicator");
  }
  if (parent->inter != nullptr)
    return raise(comm, MPI_ERR_COMM, kFunction, "not for intercommunicators");
  if (tag < 0 || tag > job.map.values().tag_ub)
    return raise(comm, MPI_ERR_TAG, kFunction, fmt::format("tag {}", tag));
  *newcomm = MPI_COMM_NULL;
  if (rank_of(members, job.here) == kNoMember) return MPI_SUCCESS;
  if (!is_own_group(group)) {
    const int code = make_local_part(job, *parent, members, tag, newcomm);
    return code == MPI_SUCCESS ? inherit_error_handler(comm, *newcomm) : code;
  }
  wire::ContextId context = 0;
  if (const int code = meet_as_group(job, *parent, members, tag, newcomm, context);
      code != MPI_SUCCESS)
    return code;
  const BlockingCreation creation(
      job, [&](std::uint64_t& value) { return greatest_among(job, *newcomm, value); });
  if (creation.code() != MPI_SUCCESS) return creation.code();
  return make_communicator(job, comm, newcomm, context, std::move(members));
}

int Comm_free(Job& job, MPI_Comm* comm) {
  return free_communicator(job, comm, "MPI_Comm_free", Meeting::kWithForeign, vendor::Comm_free);
}

int Comm_disconnect(Job& job, MPI_Comm* comm) {
  if (comm != nullptr && spanning(&job, *comm) == nullptr)
    return native::Comm_disconnect(job, comm);
  return free_communicator(job, comm, "MPI_Comm_disconnect", Meeting::kAlways,
                           vendor::Comm_disconnect);
}

}  // namespace calls
}  // namespace impishim::shim
