// SPDX-License-Identifier: Apache-2.0
#include "shim/comm/group_meeting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "shim/comm/blocking_creation.hpp"
#include "shim/comm/communicator_make.hpp"
#include "shim/comm/context.hpp"
#include "shim/completion/wait.hpp"
#include "shim/error/errors.hpp"
#include "shim/job/communicator.hpp"
#include "shim/request/arguments.hpp"
#include "shim/values/rank_list.hpp"
#include "shim/vendor.hpp"
#include "wire/base/mutex.hpp"
#include "wire/base/result.hpp"
#include "wire/message/operation.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::shim {
namespace {

constexpr const char* kFunction = "MPI_Comm_create_group";

/// Returns the ranks of the local members in this system's world, in the order of `members`.
std::vector<int> local_members(const Job& job, const RankList& members) {
  const wire::Client& client = job.map.client(job.client);
  std::vector<int> native;
  for (const wire::WorldRank rank : members) {
    const std::int32_t place = rank - client.first_proc;
    if (place >= 0 && place < client.proc_count) native.push_back(place);
  }
  return native;
}

int poll_all(Job& job, std::vector<MPI_Request>& requests) {
  int code = MPI_SUCCESS;
  for (const MPI_Request request : requests) {
    const int ended = poll_native(job, request);
    if (code == MPI_SUCCESS) code = ended;
  }
  requests.clear();
  return code;
}

/// A GreatestOfLocal of the members, through the first of them. When it returns, all are inside.
int greatest_of_members(Job& job, const std::vector<int>& native, int tag, std::uint64_t& value) {
  // The upper half of the tags that every MPI supports is reserved: see communicator_make.hpp.
  const int signal = tag % 16384;
  const bool first = native.front() == native_rank(job, job.here);
  const std::vector<int> others =
      first ? std::vector<int>(native.begin() + 1, native.end()) : std::vector<int>{native.front()};
  std::vector<std::uint64_t> values(others.size());
  std::vector<MPI_Request> requests;
  const auto receive_from_others = [&] {
    for (std::size_t i = 0; i < others.size(); ++i) {
      vendor::Irecv(&values[i], 1, MPI_UINT64_T, others[i], signal, job.private_comm,
                    &requests.emplace_back(MPI_REQUEST_NULL));
    }
  };
  const auto send = [&](int to) {
    vendor::Isend(&value, 1, MPI_UINT64_T, to, signal, job.private_comm,
                  &requests.emplace_back(MPI_REQUEST_NULL));
  };
  if (!first) send(native.front());
  receive_from_others();
  const int code = poll_all(job, requests);
  if (code != MPI_SUCCESS) return code;
  for (const std::uint64_t each : values) value = std::max(value, each);
  if (!first) return code;
  std::ranges::for_each(others, send);
  return poll_all(job, requests);
}

/// Creates the vendor's group of the local `members` from the group of the parent's handle. MPICH
/// 4.0.2 creates the latter at its first use, and not safely if several threads use it at once.
int group_of_local(const Communicator& parent, const RankList& members, MPI_Group* group) {
  static Mutex mutex;
  const MutexLock lock(mutex);
  std::vector<int> ranks;
  for (const std::int32_t rank : ranks_of(parent.members, members)) {
    const std::int32_t local = parent.local_ranks[static_cast<std::size_t>(rank)];
    if (local >= 0) ranks.push_back(local);
  }
  MPI_Group all = MPI_GROUP_NULL;
  int code = vendor::Comm_group(parent.handle, &all);
  if (code != MPI_SUCCESS) return code;
  code = vendor::Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), group);
  vendor::Group_free(&all);
  return code;
}

/// A meeting's result above all context ids, if a system of the group is lost; its number follows.
constexpr std::uint64_t kLostMember = 0x7fffffff00000000U;

/// Returns the result of a meeting of `members` that has failed.
std::uint64_t failed_meeting(const Job& job, const RankList& members) {
  for (const std::int32_t client : job.engine->lost_clients()) {
    for (const wire::WorldRank member : members) {
      if (job.map.proc(member).client == client)
        return kLostMember | static_cast<std::uint32_t>(client);
    }
  }
  return kLostMember | UINT32_MAX;
}

/// Frees the vendor's communicator of a meeting that has failed, and raises why.
int raise_failed_meeting(const Communicator& parent, std::uint64_t value, MPI_Comm* handle) {
  vendor::Comm_free(handle);
  const auto client = static_cast<std::uint32_t>(value);
  const std::string text = client == UINT32_MAX
                               ? "a message between systems was lost"
                               : fmt::format("system {} is lost, and is in the group", client);
  return raise(parent.handle, kFunction, {ErrorKind::kLost, text});
}

/// Messages between masters of the group. They use a context that is reserved for handshakes of
/// this parent, ranks in the parent, and the user's tag.
class Masters {
 public:
  Masters(Job& job, const Communicator& parent, const RankList& members, int tag)
      : job_(job), parent_(parent), members_(members), tag_(tag) {}

  void send(std::int32_t to, const std::uint64_t& value) {
    wire::SendOperation& operation = sends_.emplace_back();
    static_cast<void>(describe_buffer(kFunction, &value, 1, MPI_UINT64_T,
                                      operation.buffer));  // cannot fail: a basic type has a layout
    operation.destination = members_[static_cast<std::size_t>(to)];
    operation.context = parent_.context | kGroupMeeting;
    operation.source_rank = parent_.rank;
    operation.tag = tag_;
    job_.engine->start(operation);
  }
  void receive(std::int32_t from, std::uint64_t& value) {
    wire::ReceiveOperation& operation = receives_.emplace_back();
    static_cast<void>(describe_buffer(kFunction, &value, 1, MPI_UINT64_T, operation.buffer));
    operation.context = parent_.context | kGroupMeeting;
    operation.source = rank_of(parent_.members, members_[static_cast<std::size_t>(from)]);
    operation.tag = tag_;
    job_.engine->start(operation);
  }
  Result<void> wait() {
    const auto over = [](const wire::Operation& operation) { return operation.complete(); };
    drive_until(job_, false, [&] {
      return std::ranges::all_of(sends_, over) && std::ranges::all_of(receives_, over);
    });
    Result<void> outcome;
    for (const auto& each : sends_) {
      if (each.result.error) outcome = *each.result.error;
    }
    for (const auto& each : receives_) {
      if (each.result.error) outcome = *each.result.error;
    }
    return outcome;
  }

 private:
  Job& job_;
  const Communicator& parent_;
  const RankList& members_;
  int tag_;
  std::deque<wire::SendOperation> sends_;
  std::deque<wire::ReceiveOperation> receives_;
};

/// Replaces `value` on all masters by the maximum over them. The group's first member, which is a
/// master, collects and distributes it. If a master is lost, the others hear of that in its place.
Result<void> greatest_of_masters(const Job& job, Masters& leaders, const Communicator& group,
                                 std::uint64_t& value) {
  if (group.rank != 0) {
    leaders.send(0, value);
    std::uint64_t greatest = 0;
    leaders.receive(0, greatest);
    auto outcome = leaders.wait();
    value = greatest;
    return outcome;
  }
  const std::vector<std::int32_t> others(group.masters.begin() + 1, group.masters.end());
  std::vector<std::uint64_t> values(others.size());
  for (std::size_t i = 0; i < others.size(); ++i) leaders.receive(others[i], values[i]);
  auto collected = leaders.wait();
  if (!collected) values.push_back(failed_meeting(job, group.members));
  for (const std::uint64_t each : values) value = std::max(value, each);
  for (const std::int32_t other : others) leaders.send(other, value);
  // One that is lost now is lost in the new communicator, which the others have.
  static_cast<void>(leaders.wait());
  return collected;
}

}  // namespace

int make_local_part(Job& job, const Communicator& parent, const RankList& members, int tag,
                    MPI_Comm* handle) {
  MPI_Group group = MPI_GROUP_NULL;
  int code = group_of_local(parent, members, &group);
  if (code == MPI_SUCCESS) {
    const std::vector<int> native = local_members(job, members);
    const BlockingCreation creation(
        job, [&](std::uint64_t& value) { return greatest_of_members(job, native, tag, value); });
    code = creation.code();
    if (code == MPI_SUCCESS) code = make_native_of_group(job, parent.handle, group, tag, handle);
  }
  if (group != MPI_GROUP_NULL) vendor::Group_free(&group);
  return code;
}

int meet_as_group(Job& job, const Communicator& parent, const RankList& members, int tag,
                  MPI_Comm* handle, wire::ContextId& context) {
  int code = make_local_part(job, parent, members, tag, handle);
  if (code != MPI_SUCCESS) return code;
  const auto group = Communicator::create(job.map, job.here, *handle, 0, members);
  std::uint64_t value = propose_context(job, group->rank == 0, &parent);
  MPI_Request request = MPI_REQUEST_NULL;
  code = vendor::Iallreduce(MPI_IN_PLACE, &value, 1, MPI_UINT64_T, MPI_MAX, *handle, &request);
  if (code == MPI_SUCCESS) code = poll_native(job, request);
  if (code != MPI_SUCCESS) return code;
  const std::int32_t master = group->masters[static_cast<std::size_t>(
      group->master_of[static_cast<std::size_t>(group->rank)])];
  if (group->rank == master) {
    Masters leaders(job, parent, members, tag);
    if (!greatest_of_masters(job, leaders, *group, value)) value = failed_meeting(job, members);
  }
  code = vendor::Ibcast(&value, 1, MPI_UINT64_T, 0, *handle,
                        &request);  // the master is the first of the local members
  if (code == MPI_SUCCESS) code = poll_native(job, request);
  if (code != MPI_SUCCESS) return code;
  if (value >= kLostMember) return raise_failed_meeting(parent, value, handle);
  const auto settled = settle_context(job, value);
  if (!settled) return raise(parent.handle, kFunction, settled.error());
  context = *settled;
  return MPI_SUCCESS;
}

}  // namespace impishim::shim
