// SPDX-License-Identifier: Apache-2.0
#include "shim/job/lost_systems.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

#include "shim/coll/collective_queue.hpp"
#include "shim/entry_points.hpp"
#include "shim/error/errors.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "shim/values/failure_notice.hpp"
#include "shim/values/program_symbols.hpp"
#include "shim/vendor.hpp"
#include "wire/base/log.hpp"
#include "wire/base/mutex.hpp"
#include "wire/base/result.hpp"
#include "wire/message/operation.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::shim {
namespace {

/// MPIX_Comm_revoke in C, and in Fortran as compilers name it.
constexpr std::array<std::string_view, 3> kRevoke{"MPIX_Comm_revoke", "mpix_comm_revoke_",
                                                  "mpix_comm_revoke"};

bool is_in(const Job& job, std::int32_t client, const std::vector<wire::WorldRank>& members) {
  for (const wire::WorldRank member : members) {
    if (job.map.proc(member).client == client) return true;
  }
  return false;
}

bool has_members(const Job& job, std::int32_t client, const Communicator& communicator) {
  return is_in(job, client, communicator.members) ||
         (communicator.inter != nullptr && is_in(job, client, communicator.own_group()));
}

/// Ends what waits in a communicator for processes of a lost system.
void lose_members(Job& job, Communicator& communicator, std::int32_t client) {
  if (!has_members(job, client, communicator)) return;
  std::vector<std::int32_t> ranks;
  for (std::int32_t rank = 0; rank < communicator.size(); ++rank) {
    if (job.map.proc(communicator.world_rank(rank)).client == client) ranks.push_back(rank);
  }
  for (const wire::ContextId each :
       {communicator.context, communicator.context | kPartitionedContext,
        communicator.context | kGroupMeeting}) {
    if (!ranks.empty()) job.engine->close_sources(each, client, ranks);
  }
  if (const char* object = communicator.made_for.load(); object != nullptr)
    end_job(1, fmt::format("{}; {} cannot go on without its processes",
                           job.engine->loss_text(client), object));
  communicator.collectives->break_with({.context = communicator.context,
                                        .kind = FailureNotice::Kind::kLost,
                                        .error_class = error_class_of(ErrorKind::kLost),
                                        .origin = job.here,
                                        .text = job.engine->loss_text(client)});
  communicator.broken.store(true, std::memory_order_release);
}

/// Returns what this process has that does not survive the loss of a system, or null.
const char* what_cannot_go_on(Job& job) {
  if (job.indivisible.load() != 0)
    return "it makes a window, a file or a communicator that needs it";
  if (job.shuffles.load() != 0) return "it has a shuffle";
  if (job.creation_order.latest() != 0) return "it duplicates a communicator (MPI_Comm_idup)";
  return nullptr;
}

}  // namespace

void handle_losses(Job& job) {
  const MutexLock lock(job.losses_mutex);
  std::uint64_t handled = job.lost_systems.load(std::memory_order_relaxed);
  const std::size_t count = job.engine->lost_count();
  for (const std::int32_t client : job.engine->lost_clients()) {
    const std::uint64_t bit = std::uint64_t{1} << static_cast<unsigned>(client);
    if ((handled & bit) != 0) continue;
    if (const char* reason = what_cannot_go_on(job); reason != nullptr) {
      end_job(1, fmt::format("{}; this process cannot go on without it: {}",
                             job.engine->loss_text(client), reason));
    }
    handled |= bit;
    job.lost_systems.store(handled, std::memory_order_release);
    job.communicators.for_each(
        [&](Communicator& communicator) { lose_members(job, communicator, client); });
  }
  job.losses_handled.store(count, std::memory_order_release);
}

void break_if_lost(Job& job, Communicator& communicator) {
  if (job.engine->lost_count() == 0) return;
  const MutexLock lock(job.losses_mutex);
  for (const std::int32_t client : job.engine->lost_clients())
    lose_members(job, communicator, client);
}

std::uint64_t lost_in(const Job& job, const Communicator& communicator) {
  std::uint64_t lost = 0;
  const std::uint64_t all = job.lost_systems.load(std::memory_order_acquire);
  for (std::int32_t client = 0; (all >> static_cast<unsigned>(client)) != 0; ++client) {
    const std::uint64_t bit = std::uint64_t{1} << static_cast<unsigned>(client);
    if ((all & bit) != 0 && has_members(job, client, communicator)) lost |= bit;
  }
  return lost;
}

void follow_error_handler(Job& job) {
  const MutexLock lock(job.losses_mutex);
  const bool survives = !ends_job(job.joined_world);
  if (survives == job.survives.load(std::memory_order_relaxed)) return;
  job.survives.store(survives, std::memory_order_relaxed);
  if (survives && !job.hears_revocations && program_refers_to(kRevoke)) {
    // A thread inside the vendor's MPI does not hear that a communicator is revoked.
    job.hears_revocations = true;
    job.needs_caller.fetch_add(1);
    ranks_inside.keep_receives();
  }
  job.engine->survive_losses(survives);
  if (!job.server) return;
  auto told = job.server->tell_going_on(survives);
  // The server has ended, or will see that this system goes on without it.
  if (!told) log(LogLevel::kDebug, "cannot tell the server: {}", told.error().text);
}

namespace calls {

int Comm_set_errhandler(Job& job, MPI_Comm comm, MPI_Errhandler errhandler) {
  const int code = vendor::Comm_set_errhandler(comm, errhandler);
  if (code == MPI_SUCCESS && comm == job.joined_world) follow_error_handler(job);
  return code;
}

#ifdef IMPISHIM_HAVE_MPI_Errhandler_set
int Errhandler_set(Job& job, MPI_Comm comm, MPI_Errhandler errhandler) {
  const int code = vendor::Errhandler_set(comm, errhandler);
  if (code == MPI_SUCCESS && comm == job.joined_world) follow_error_handler(job);
  return code;
}
#endif

}  // namespace calls
}  // namespace impishim::shim
