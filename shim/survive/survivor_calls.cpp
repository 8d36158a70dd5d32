// SPDX-License-Identifier: Apache-2.0
#include "shim/survive/survivor_calls.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "shim/comm/blocking_creation.hpp"
#include "shim/comm/communicator_make.hpp"
#include "shim/comm/context.hpp"
#include "shim/comm/named_meeting.hpp"
#include "shim/entry_points.hpp"
#include "shim/error/errors.hpp"
#include "shim/group/group.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "shim/job/lost_systems.hpp"
#include "shim/survive/agreement.hpp"
#include "shim/values/rank_list.hpp"
#include "shim/values/survivor_agreement.hpp"
#include "shim/vendor.hpp"
#include "wire/message/operation.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::shim {
namespace {

/// Returns the members that are in a set of systems, or those that are not.
RankList members_in(const Job& job, const Communicator& communicator, std::uint64_t systems,
                    bool in) {
  RankList members;
  for (const wire::WorldRank member : communicator.members) {
    const auto system = static_cast<unsigned>(job.map.proc(member).client);
    if (((systems >> system & 1U) != 0) == in) members.push_back(member);
  }
  return members;
}

int check_one_group(const Communicator& communicator, const char* function) {
  if (communicator.inter == nullptr) return MPI_SUCCESS;
  return raise(communicator.handle, MPI_ERR_COMM, function, "not for intercommunicators");
}

/// Returns this process's words of an agreement.
AgreedWords own_words(Job& job, const Communicator& communicator) {
  handle_new_losses(job);
  return {.flags = ~std::uint64_t{0},
          .acknowledged = communicator.acknowledged.load(),
          .context = 0,
          .lost = 0};
}

}  // namespace

int acknowledge_failures(Job& job, Communicator& communicator) {
  handle_new_losses(job);
  communicator.acknowledged = lost_in(job, communicator);
  job.engine->open_any_source(communicator.context);
  return MPI_SUCCESS;
}

int acknowledged_group(Job& job, const Communicator& communicator, MPI_Group* failed) {
  return make_group(job, members_in(job, communicator, communicator.acknowledged.load(), true),
                    failed);
}

int agree(Job& job, Communicator& communicator, int* flag) {
  constexpr const char* kFunction = "MPIX_Comm_agree";
  int code = check_one_group(communicator, kFunction);
  if (code != MPI_SUCCESS) return code;
  AgreedWords words = own_words(job, communicator);
  words.flags = static_cast<std::uint32_t>(*flag);
  code = agree_among_survivors(job, communicator, words);
  if (code != MPI_SUCCESS) return code;
  *flag = static_cast<int>(static_cast<std::uint32_t>(words.flags));
  if ((words.lost & ~words.acknowledged) == 0) return MPI_SUCCESS;
  return raise(communicator.handle, proc_failed_class(), kFunction,
               "a member is lost, and not all others have acknowledged that "
               "(MPIX_Comm_failure_ack)");
}

int shrink(Job& job, Communicator& communicator, MPI_Comm* newcomm) {
  constexpr const char* kFunction = "MPIX_Comm_shrink";
  int code = check_one_group(communicator, kFunction);
  if (code != MPI_SUCCESS) return code;
  AgreedWords words = own_words(job, communicator);
  // Any member may be lost before it has told its proposal, so all propose one.
  words.context = propose_context(job, true, &communicator);
  code = agree_among_survivors(job, communicator, words);
  if (code != MPI_SUCCESS) return code;
  const auto context = settle_context(job, words.context);
  if (!context) return raise(communicator.handle, kFunction, context.error());
  RankList members = members_in(job, communicator, words.lost, false);
  if (rank_of(members, job.here) == kNoMember)
    return raise(communicator.handle, proc_failed_class(), kFunction,
                 "the others take this system for lost");
  const std::vector<int> native = native_members(job, members);
  const MeetingName name = latest_agreement(communicator);
  *newcomm = MPI_COMM_NULL;
  const BlockingCreation creation(
      job, [&](std::uint64_t& value) { return greatest_by_letters(job, native, name, value); });
  code = creation.code();
  // The program's messages that a failure has left in the communicator stay out of this.
  if (code == MPI_SUCCESS) code = make_local_communicator(job, native, *context, newcomm);
  if (code != MPI_SUCCESS) return code;
  return make_communicator(job, communicator.handle, newcomm, *context, std::move(members));
}

int acknowledged_inside(MPI_Comm comm, MPI_Group* failed) {
  MPI_Group all = MPI_GROUP_NULL;
  int code = MPI_Comm_group(comm, &all);
  if (code != MPI_SUCCESS) return code;
  code = MPI_Group_incl(all, 0, nullptr, failed);
  MPI_Group_free(&all);
  return code;
}

int revoke_inside(MPI_Comm comm) {
  return raise(comm, MPI_ERR_UNSUPPORTED_OPERATION, "MPIX_Comm_revoke",
               "the MPI library cannot revoke a communicator inside a system");
}

int shrink_inside(MPI_Comm comm, MPI_Comm* newcomm) { return MPI_Comm_split(comm, 0, 0, newcomm); }

int agree_inside(MPI_Comm comm, int* flag) {
  return MPI_Allreduce(MPI_IN_PLACE, flag, 1, MPI_INT, MPI_BAND, comm);
}

#ifdef IMPISHIM_HAVE_MPIX_Comm_agree
namespace calls {

int MPIX_Comm_failure_ack(Job& job, MPI_Comm comm) {
  Communicator* communicator = spanning(&job, comm);
  return communicator == nullptr ? MPI_SUCCESS : acknowledge_failures(job, *communicator);
}

int MPIX_Comm_failure_get_acked(Job& job, MPI_Comm comm, MPI_Group* failedgrp) {
  const Communicator* communicator = spanning(&job, comm);
  return communicator == nullptr ? acknowledged_inside(comm, failedgrp)
                                 : acknowledged_group(job, *communicator, failedgrp);
}

int MPIX_Comm_revoke(Job& job, MPI_Comm comm) {
  Communicator* communicator = spanning(&job, comm);
  return communicator == nullptr ? revoke_inside(comm) : revoke_communicator(job, *communicator);
}

int MPIX_Comm_shrink(Job& job, MPI_Comm comm, MPI_Comm* newcomm) {
  Communicator* communicator = spanning(&job, comm);
  return communicator == nullptr ? shrink_inside(comm, newcomm)
                                 : shrink(job, *communicator, newcomm);
}

int MPIX_Comm_agree(Job& job, MPI_Comm comm, int* flag) {
  Communicator* communicator = spanning(&job, comm);
  return communicator == nullptr ? agree_inside(comm, flag) : agree(job, *communicator, flag);
}

}  // namespace calls
#endif

#ifdef IMPISHIM_HAVE_MPIX_Comm_is_revoked
namespace calls {

int MPIX_Comm_is_revoked(Job& job, MPI_Comm comm, int* flag) {
  const Communicator* communicator = spanning(&job, comm);
  *flag = communicator != nullptr && communicator->revoked.load() ? 1 : 0;
  return MPI_SUCCESS;
}

}  // namespace calls
#endif

}  // namespace impishim::shim
