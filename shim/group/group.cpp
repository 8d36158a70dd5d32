// SPDX-License-Identifier: Apache-2.0
#include "shim/group/group.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string_view>
#include <vector>

#include "shim/error/errors.hpp"
#include "shim/handle/own_handle.hpp"
#include "shim/job/job.hpp"
#include "shim/values/rank_list.hpp"
#include "shim/vendor.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::shim {
namespace {

/// Returns the world rank of this system's first process.
wire::WorldRank first_here(const Job& job) { return job.map.client(job.client).first_proc; }

/// Computes the world ranks of the members of one of the vendor's groups. The value is kNoMember
/// for processes that are not in the job.
int members_of_vendors(const Job& job, MPI_Group group, RankList& members) {
  int size = 0;
  int code = vendor::Group_size(group, &size);
  if (code != MPI_SUCCESS) return code;
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  std::vector<int> native(ranks.size());
  if (size > 0)
    code =
        vendor::Group_translate_ranks(group, size, ranks.data(), job.native_group, native.data());
  members.clear();
  for (const int rank : native)
    members.push_back(rank == MPI_UNDEFINED ? kNoMember : first_here(job) + rank);
  return code;
}

}  // namespace

int make_group(Job& job, const RankList& members, MPI_Group* group) {
  const auto is_here = [&](wire::WorldRank rank) {
    return job.map.proc(rank).client == job.client;
  };
  // The vendor creates an empty group, too: the caller frees it, and Open MPI counts references to
  // MPI_GROUP_EMPTY.
  if (!std::ranges::all_of(members, is_here)) {
    *group = job.groups.keep(members);
    return MPI_SUCCESS;
  }
  std::vector<int> native;
  native.reserve(members.size());
  for (const wire::WorldRank rank : members) native.push_back(rank - first_here(job));
  return vendor::Group_incl(job.native_group, static_cast<int>(native.size()), native.data(),
                            group);
}

int members_of(Job& job, MPI_Group group, std::string_view function, RankList& members) {
  if (is_own_group(group)) {
    const auto found = job.groups.find(group);
    if (found == nullptr)
      return raise(MPI_COMM_WORLD, MPI_ERR_GROUP, function, "the group has been freed");
    members = *found;
    return MPI_SUCCESS;
  }
  const int code = members_of_vendors(job, group, members);
  if (code != MPI_SUCCESS || std::ranges::find(members, kNoMember) == members.end()) return code;
  return raise(MPI_COMM_WORLD, MPI_ERR_GROUP, function,
               "a group with processes that were started later cannot be combined with processes "
               "of other systems");
}

int members_of_native(Job& job, MPI_Comm comm, bool remote, RankList& members) {
  MPI_Group group = MPI_GROUP_NULL;
  int code = remote ? vendor::Comm_remote_group(comm, &group) : vendor::Comm_group(comm, &group);
  if (code != MPI_SUCCESS) return code;
  code = members_of_vendors(job, group, members);
  vendor::Group_free(&group);
  return code;
}

}  // namespace impishim::shim
