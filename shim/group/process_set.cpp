// SPDX-License-Identifier: Apache-2.0
// The process sets of sessions (MPI-4.0 11.3.2). In a joined job, as in any other, there are two:
// "mpi://WORLD" has the processes of MPI_COMM_WORLD, and "mpi://SELF" the calling one.
#include "shim/entry_points.hpp"  // IWYU pragma: keep
#ifdef IMPISHIM_HAVE_MPI_Session_init

#include <fmt/format.h>
#include <strings.h>

#include <array>
#include <cstddef>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>

#include "shim/error/session_error.hpp"
#include "shim/group/group.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "shim/values/rank_list.hpp"
#include "shim/vendor.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::shim {
namespace {

constexpr std::array kProcessSets{"mpi://WORLD", "mpi://SELF"};

RankList members_of_world(const Job& job) {
  if (job.world != nullptr) return job.world->members;
  const wire::Client& client = job.map.client(job.client);
  RankList members(static_cast<std::size_t>(client.proc_count));
  std::iota(members.begin(), members.end(), client.first_proc);
  return members;
}

/// Returns the members of a process set, or nothing if there is none of this name. Scheme and
/// authority of a URI are not case-sensitive.
std::optional<RankList> members_of_set(const Job& job, const char* name) {
  if (name == nullptr) return std::nullopt;
  if (strcasecmp(name, kProcessSets[0]) == 0) return members_of_world(job);
  if (strcasecmp(name, kProcessSets[1]) == 0) return RankList{job.here};
  return std::nullopt;
}

/// Has the vendor check the session. Returns MPI_SUCCESS or the vendor's code, which it has raised.
int check_session(MPI_Session session) {
  int count = 0;
  return vendor::Session_get_num_psets(session, MPI_INFO_NULL, &count);
}

int unknown_set(MPI_Session session, const char* function, const char* name) {
  return raise(session, function, MPI_ERR_ARG,
               fmt::format("there is no process set {}", name == nullptr ? "(null)" : name));
}

}  // namespace

namespace calls {

int Session_get_num_psets(Job& /*job*/, MPI_Session session, MPI_Info /*info*/, int* npset_names) {
  const int code = check_session(session);
  if (code == MPI_SUCCESS) *npset_names = static_cast<int>(kProcessSets.size());
  return code;
}

/// With a length of 0 the call only tells the length that a buffer needs.
int Session_get_nth_pset(Job& /*job*/, MPI_Session session, MPI_Info /*info*/, int n, int* pset_len,
                         char* pset_name) {
  constexpr const char* kFunction = "MPI_Session_get_nth_pset";
  if (const int code = check_session(session); code != MPI_SUCCESS) return code;
  if (n < 0 || static_cast<std::size_t>(n) >= kProcessSets.size()) {
    return raise(session, kFunction, MPI_ERR_ARG,
                 fmt::format("process set {} of {}", n, kProcessSets.size()));
  }
  if (*pset_len < 0)
    return raise(session, kFunction, MPI_ERR_ARG, fmt::format("a length of {}", *pset_len));
  const std::string_view name = kProcessSets[static_cast<std::size_t>(n)];
  if (*pset_len > 0) {
    const std::size_t copied = name.copy(pset_name, static_cast<std::size_t>(*pset_len) - 1);
    pset_name[copied] = '\0';
  }
  *pset_len = static_cast<int>(name.size()) + 1;
  return MPI_SUCCESS;
}

int Session_get_pset_info(Job& job, MPI_Session session, const char* pset_name, MPI_Info* info) {
  *info = MPI_INFO_NULL;
  int code = check_session(session);
  if (code != MPI_SUCCESS) return code;
  const auto members = members_of_set(job, pset_name);
  if (!members) return unknown_set(session, "MPI_Session_get_pset_info", pset_name);
  code = vendor::Info_create(info);
  if (code != MPI_SUCCESS) return code;
  return vendor::Info_set(*info, "mpi_size", std::to_string(members->size()).c_str());
}

int Group_from_session_pset(Job& job, MPI_Session session, const char* pset_name,
                            MPI_Group* newgroup) {
  *newgroup = MPI_GROUP_NULL;
  const int code = check_session(session);
  if (code != MPI_SUCCESS) return code;
  const auto members = members_of_set(job, pset_name);
  if (!members) return unknown_set(session, "MPI_Group_from_session_pset", pset_name);
  return make_group(job, *members, newgroup);
}

}  // namespace calls
}  // namespace impishim::shim
#endif
