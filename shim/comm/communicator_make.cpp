// SPDX-License-Identifier: Apache-2.0
#include "shim/comm/communicator_make.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "shim/coll/collective_queue.hpp"
#include "shim/comm/context.hpp"
#include "shim/comm/proc_names.hpp"
#include "shim/error/errors.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "shim/job/lost_systems.hpp"
#include "shim/native.hpp"
#include "shim/request/communicator_end.hpp"
#include "shim/values/rank_list.hpp"
#include "shim/values/topology.hpp"
#include "shim/vendor.hpp"
#include "wire/message/operation.hpp"
#include "wire/packet/packet.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::shim {
namespace {

/// Creates a second communicator of the same processes, without attributes.
int split_off(MPI_Comm from, MPI_Comm* made) {
  int rank = 0;
  vendor::Comm_rank(from, &rank);
  return vendor::Comm_split(from, 0, rank, made);
}

bool has_local(const Job& job, const RankList& members) {
  return first_local(job, members).has_value();
}

/// The vendor's communicators of an intercommunicator.
struct InterHandles {
  MPI_Comm user = MPI_COMM_NULL;
  MPI_Comm companion = MPI_COMM_NULL;
  MPI_Comm own = MPI_COMM_NULL;   ///< the local group's local members
  MPI_Comm both = MPI_COMM_NULL;  ///< the local members of both groups, in the order of the union

  void free() {
    for (MPI_Comm* each : {&user, &companion, &own, &both}) free_if_any(each);
  }
};

}  // namespace

bool comes_first(const Job& job, const RankList& group, const RankList& other) {
  if (!has_other_jobs(job, group) && !has_other_jobs(job, other))
    return group.front() < other.front();
  const wire::ProcId& first = job.map.proc(group.front()).id;
  const wire::ProcId& second = job.map.proc(other.front()).id;
  return std::tie(first.host, first.pid) < std::tie(second.host, second.pid);
}

int native_rank(const Job& job, wire::WorldRank rank) {
  return rank - job.map.client(job.client).first_proc;
}

std::optional<int> first_local(const Job& job, const RankList& members) {
  const auto first = std::ranges::find_if(
      members, [&](wire::WorldRank rank) { return job.map.proc(rank).client == job.client; });
  if (first == members.end()) return std::nullopt;
  return native_rank(job, *first);
}

int handshake_tag(wire::ContextId context) {
  return 16384 + static_cast<int>((context >> 1U) % 16382);
}

int make_native_of_group(Job& job, MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* newcomm) {
  // The vendor's function reports errors of a null handle under its own name.
  if (comm != MPI_COMM_NULL) {
    MPI_Group all = MPI_GROUP_NULL;
    if (const int code = vendor::Comm_group(comm, &all); code != MPI_SUCCESS) return code;
    vendor::Group_free(&all);
  }
  return native::Comm_create_group(job, comm, group, tag, newcomm);
}

int make_local_communicator(Job& job, const std::vector<int>& native, wire::ContextId context,
                            MPI_Comm* newcomm) {
  MPI_Group group = MPI_GROUP_NULL;
  int code =
      vendor::Group_incl(job.native_group, static_cast<int>(native.size()), native.data(), &group);
  if (code != MPI_SUCCESS) return code;
  code = make_native_of_group(job, job.private_comm, group, handshake_tag(context), newcomm);
  vendor::Group_free(&group);
  return code;
}

namespace {

/// Creates the vendor's intercommunicator with the local members of the remote group.
int meet_local_peers(Job& job, const InterParts& parts, MPI_Comm* met) {
  return vendor::Intercomm_create(parts.own, 0, job.private_comm, *first_local(job, parts.remote),
                                  handshake_tag(parts.context), met);
}

/// Creates the communicator of the local members of both groups.
int unite_local_members(Job& job, const InterParts& parts, MPI_Comm* both) {
  if (!has_local(job, parts.remote)) return split_off(parts.own, both);
  MPI_Comm met = MPI_COMM_NULL;
  int code = meet_local_peers(job, parts, &met);
  if (code != MPI_SUCCESS) return code;
  code = vendor::Intercomm_merge(met, comes_first(job, parts.local, parts.remote) ? 0 : 1, both);
  vendor::Comm_free(&met);
  return code;
}

int make_inter_handles(Job& job, const InterParts& parts, InterHandles& handles) {
  int code = unite_local_members(job, parts, &handles.both);
  if (code == MPI_SUCCESS) code = split_off(handles.both, &handles.user);
  if (code == MPI_SUCCESS && has_local(job, parts.remote))
    code = split_off(handles.both, &handles.companion);
  return code;
}

/// Makes errors on a hidden communicator return codes. They are raised through the error handler of
/// the user's communicator when the operation is complete.
void return_errors(MPI_Comm hidden) {
  if (hidden != MPI_COMM_NULL) vendor::Comm_set_errhandler(hidden, MPI_ERRORS_RETURN);
}

/// Registers the user's handle as a spanning intracommunicator.
void describe_intracommunicator(Job& job, MPI_Comm handle, MPI_Comm companion,
                                wire::ContextId context, RankList members,
                                std::shared_ptr<const Topology> topology) {
  return_errors(companion);
  auto made = Communicator::create(job.map, job.here, handle, context, std::move(members));
  made->companion = companion;
  made->collectives = std::make_shared<CollectiveQueue>();
  made->topology = std::move(topology);
  break_if_lost(job, *job.communicators.insert(std::move(made)));
}

std::unique_ptr<Communicator> describe_hidden(const Job& job, MPI_Comm handle,
                                              wire::ContextId context, RankList members) {
  return_errors(handle);
  auto made = Communicator::create(job.map, job.here, handle, context, std::move(members));
  made->companion = handle;
  return made;
}

/// Sets the ranks of the remote group's members in the handle, which has the local members of both
/// groups.
void use_ranks_of_both(Communicator& made) {
  const Communicator& both = *made.inter->both;
  made.spanning_ranks.assign(both.spanning_ranks.size(), kNoMember);
  for (std::int32_t rank = 0; rank < made.size(); ++rank) {
    const std::int32_t local = both.local_rank(made.inter->first_remote + rank);
    made.local_ranks[static_cast<std::size_t>(rank)] = local;
    if (local >= 0) made.spanning_ranks[static_cast<std::size_t>(local)] = rank;
  }
  made.local_ranks_are_spanning = false;
}

/// Registers the user's handle as a spanning intercommunicator.
void describe_intercommunicator(Job& job, const InterHandles& handles, wire::ContextId context,
                                const RankList& local, const RankList& remote) {
  const bool first = comes_first(job, local, remote);
  RankList all = first ? local : remote;
  const RankList& others = first ? remote : local;
  all.insert(all.end(), others.begin(), others.end());
  auto inter = std::make_unique<Intergroups>();
  inter->local = describe_hidden(job, handles.own, context | kLocalGroup, local);
  inter->both = describe_hidden(job, handles.both, context | kBothGroups, std::move(all));
  inter->first_local = first ? 0 : static_cast<std::int32_t>(remote.size());
  inter->first_remote = first ? static_cast<std::int32_t>(local.size()) : 0;

  return_errors(handles.companion);
  auto made = Communicator::create(job.map, job.here, handles.user, context, remote);
  made->rank = inter->local->rank;
  made->companion = handles.companion;
  made->collectives = std::make_shared<CollectiveQueue>();
  made->has_local_peers = has_local(job, remote);
  made->inter = std::move(inter);
  if (made->has_local_peers) use_ranks_of_both(*made);
  break_if_lost(job, *job.communicators.insert(std::move(made)));
}

}  // namespace

void HiddenHandles::free() {
  for (MPI_Comm* each : {&companion, &own, &both}) free_if_any(each);
}

bool is_native(const Job& job, const RankList& members) {
  return std::ranges::all_of(
      members, [&](wire::WorldRank rank) { return job.map.proc(rank).client == job.client; });
}

int inherit_error_handler(MPI_Comm parent, MPI_Comm made) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  int code = vendor::Comm_get_errhandler(parent, &handler);
  if (code != MPI_SUCCESS) return code;
  code = vendor::Comm_set_errhandler(made, handler);
  if (!is_predefined(handler)) vendor::Errhandler_free(&handler);  // drops our reference
  return code;
}

int make_communicator(Job& job, MPI_Comm parent, MPI_Comm* handle, wire::ContextId context,
                      RankList members, std::shared_ptr<const Topology> topology,
                      MPI_Comm companion) {
  int code = inherit_error_handler(parent, *handle);
  if (code == MPI_SUCCESS && is_native(job, members)) return code;
  if (code == MPI_SUCCESS && companion == MPI_COMM_NULL) code = split_off(*handle, &companion);
  if (code != MPI_SUCCESS) {
    vendor::Comm_free(handle);
    return code;
  }
  describe_intracommunicator(job, *handle, companion, context, std::move(members),
                             std::move(topology));
  return MPI_SUCCESS;
}

int make_intercommunicator(Job& job, const InterParts& parts, MPI_Comm* newcomm) {
  InterHandles handles;
  handles.own = parts.own;
  return_errors(handles.own);  // communicators made from it inherit this
  const bool native = is_native(job, parts.local) && is_native(job, parts.remote);
  int code = native ? meet_local_peers(job, parts, &handles.user)
                    : make_inter_handles(job, parts, handles);
  if (code == MPI_SUCCESS) code = inherit_error_handler(parts.parent, handles.user);
  if (code != MPI_SUCCESS) {
    handles.free();
    return raise_hidden_error(parts.parent, code);
  }
  *newcomm = handles.user;
  if (native) {
    handles.user = MPI_COMM_NULL;
    handles.free();
    return MPI_SUCCESS;
  }
  describe_intercommunicator(job, handles, parts.context, parts.local, parts.remote);
  return MPI_SUCCESS;
}

std::vector<HiddenHandle> hidden_handles(const Communicator& parent) {
  if (parent.inter == nullptr) return {{parent.companion, &HiddenHandles::companion}};
  std::vector<HiddenHandle> all{{parent.inter->local->handle, &HiddenHandles::own},
                                {parent.inter->both->handle, &HiddenHandles::both}};
  if (parent.has_local_peers) all.push_back({parent.companion, &HiddenHandles::companion});
  return all;
}

int describe_duplicate(Job& job, const Communicator& parent, MPI_Comm handle,
                       const HiddenHandles& hidden, wire::ContextId context) {
  const int code = inherit_error_handler(parent.handle, handle);
  if (parent.inter != nullptr) {
    const InterHandles handles{handle, hidden.companion, hidden.own, hidden.both};
    describe_intercommunicator(job, handles, context, parent.inter->local->members, parent.members);
  } else {
    describe_intracommunicator(job, handle, hidden.companion, context, parent.members,
                               parent.topology);
  }
  return code;
}

int make_duplicate(Job& job, const Communicator& parent, MPI_Comm* handle,
                   wire::ContextId context) {
  HiddenHandles hidden;
  for (const auto& [from, to] : hidden_handles(parent)) {
    const int code = vendor::Comm_dup(from, &(hidden.*to));
    if (code == MPI_SUCCESS) continue;
    hidden.free();
    vendor::Comm_free(handle);
    return raise_hidden_error(parent.handle, code);
  }
  return describe_duplicate(job, parent, *handle, hidden, context);
}

}  // namespace impishim::shim
