// SPDX-License-Identifier: Apache-2.0
#include "shim/comm/from_group.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "shim/comm/blocking_creation.hpp"
#include "shim/comm/communicator_make.hpp"
#include "shim/comm/context.hpp"
#include "shim/comm/named_meeting.hpp"
#include "shim/comm/proc_names.hpp"
#include "shim/entry_points.hpp"
#include "shim/error/errors.hpp"
#include "shim/group/group.hpp"
#include "shim/job/job.hpp"
#include "shim/job/lost_systems.hpp"
#include "shim/values/rank_list.hpp"
#include "shim/vendor.hpp"
#include "wire/base/result.hpp"
#include "wire/message/operation.hpp"

namespace impishim::shim {
namespace {

#ifdef MPI_MAX_STRINGTAG_LEN
constexpr std::size_t kLongestTag = MPI_MAX_STRINGTAG_LEN;
#else
constexpr std::size_t kLongestTag = 256;
#endif

/// Agrees with all members on the number that the new communicator is known by: its context id if
/// it spans systems. When it returns, all members are inside.
int agree_on_number(Job& job, const RankList& members, MeetingName name, std::uint64_t& number) {
  const bool first = members.front() == job.here;
  if (has_other_jobs(job, members)) {
    number = first ? random_context() : 0;
  } else if (is_native(job, members)) {
    number = first ? give_context(job) : 0;
  } else {
    number = propose_context(job, first);
  }
  return greatest_of_group(job, members, name, number);
}

}  // namespace

int raise_from_group(const FromGroup& call, int error_class, std::string_view text) {
  // MPI_Comm_dup would copy the user's attributes.
  MPI_Comm bearer = MPI_COMM_NULL;
  int code = vendor::Comm_split(MPI_COMM_SELF, 0, 0, &bearer);
  if (code != MPI_SUCCESS) return code;
  code = vendor::Comm_set_errhandler(bearer, call.errhandler);
  if (code == MPI_SUCCESS) code = raise(bearer, error_class, call.function, text);
  vendor::Comm_free(&bearer);
  return code;
}

int check_from_group(Job& job, const FromGroup& call, MPI_Group group, RankList& members) {
  if (call.stringtag == nullptr || std::strlen(call.stringtag) > kLongestTag) {
    return raise_from_group(
        call, MPI_ERR_ARG, fmt::format("the string tag is longer than {} characters", kLongestTag));
  }
  if (group == MPI_GROUP_NULL) return raise_from_group(call, MPI_ERR_GROUP, "the group is null");
  const int code = members_of(job, group, call.function, members);
  if (code == MPI_SUCCESS) use_latest_ranks(job, members);
  if (code != MPI_SUCCESS || members.empty() || rank_of(members, job.here) != kNoMember)
    return code;
  return raise_from_group(call, MPI_ERR_GROUP, "the group does not contain the calling process");
}

int set_up_from_group(const FromGroup& call, MPI_Comm comm) {
  int code = vendor::Comm_set_errhandler(comm, call.errhandler);
  if (code == MPI_SUCCESS && call.info != MPI_INFO_NULL)
    code = vendor::Comm_set_info(comm, call.info);
  return code;
}

int make_from_group(Job& job, const FromGroup& call, const RankList& members, MPI_Comm* newcomm) {
  const MeetingName name = meeting_name(MeetingPurpose::kGroup, call.stringtag);
  std::uint64_t number = 0;
  int code = agree_on_number(job, members, name, number);
  if (code != MPI_SUCCESS) return code;
  wire::ContextId context = number;
  if (!is_native(job, members)) {
    const auto settled = settle_context(job, number);
    if (!settled) return raise_from_group(call, MPI_ERR_OTHER, settled.error().text);
    context = *settled;
  }
  const std::vector<int> native = native_members(job, members);
  const BlockingCreation creation(
      job, [&](std::uint64_t& value) { return greatest_by_letters(job, native, name, value); });
  code = creation.code();
  if (code == MPI_SUCCESS) code = make_local_communicator(job, native, context, newcomm);
  if (code == MPI_SUCCESS)
    code = make_communicator(job, job.private_comm, newcomm, context, members);
  return code == MPI_SUCCESS ? set_up_from_group(call, *newcomm) : code;
}

#ifdef IMPISHIM_HAVE_MPI_Comm_create_from_group
namespace calls {

int Comm_create_from_group(Job& job, MPI_Group group, const char* stringtag, MPI_Info info,
                           MPI_Errhandler errhandler, MPI_Comm* newcomm) {
  const FromGroup call{"MPI_Comm_create_from_group", stringtag, info, errhandler};
  *newcomm = MPI_COMM_NULL;
  RankList members;
  const int code = check_from_group(job, call, group, members);
  // A group without members makes no communicator.
  if (code != MPI_SUCCESS || members.empty()) return code;
  const Indivisible in_progress(job);
  return make_from_group(job, call, members, newcomm);
}

}  // namespace calls
#endif

}  // namespace impishim::shim
