// SPDX-License-Identifier: Apache-2.0
#include "shim/job/lost_systems.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "shim/coll/collective_queue.hpp"  // IWYU pragma: keep
#include "shim/entry_points.hpp"
#include "shim/error/errors.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "shim/values/failure_notice.hpp"
#include "shim/vendor.hpp"
#include "wire/base/result.hpp"
#include "wire/message/operation.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::shim {
namespace {

/// Returns the ranks of a system's processes in a communicator.
std::vector<std::int32_t> ranks_of_client(const Job& job, const Communicator& communicator,
                                          std::int32_t client) {
  std::vector<std::int32_t> ranks;
  for (std::int32_t rank = 0; rank < communicator.size(); ++rank) {
    if (job.map.proc(communicator.world_rank(rank)).client == client) ranks.push_back(rank);
  }
  return ranks;
}

/// Ends what waits in a communicator for processes of a lost system.
void lose_members(Job& job, Communicator& communicator, std::int32_t client) {
  const auto ranks = ranks_of_client(job, communicator, client);
  if (!ranks.empty()) {
    for (const wire::ContextId part : {wire::ContextId{0}, kPartitionedContext, kGroupMeeting})
      job.engine->close_sources(communicator.context | part, client, ranks);
  }
  bool has_lost = !ranks.empty();
  for (const wire::WorldRank member : communicator.own_group())
    has_lost = has_lost || job.map.proc(member).client == client;
  if (!has_lost) return;
  if (const char* object = communicator.made_for.load(); object != nullptr)
    end_job(1, fmt::format("{}; {} cannot go on without its processes",
                           job.engine->loss_text(client), object));
  communicator.collectives->break_with({.context = communicator.context,
                                        .kind = FailureNotice::Kind::kBroken,
                                        .error_class = error_class_of(ErrorKind::kLost),
                                        .origin = job.here,
                                        .text = job.engine->loss_text(client)});
  communicator.broken.store(true, std::memory_order_release);
}

}  // namespace

void handle_losses(Job& job, std::size_t lost) {
  for (const std::int32_t client : job.engine->lost_clients()) {
    job.communicators.for_each(
        [&](Communicator& communicator) { lose_members(job, communicator, client); });
  }
  job.losses_handled.store(lost, std::memory_order_relaxed);
}

void break_if_lost(Job& job, Communicator& communicator) {
  if (job.engine->lost_count() == 0) return;
  for (const std::int32_t client : job.engine->lost_clients())
    lose_members(job, communicator, client);
}

void follow_error_handler(Job& job) { job.engine->survive_losses(!ends_job(MPI_COMM_WORLD)); }

namespace calls {

int Comm_set_errhandler(Job& job, MPI_Comm comm, MPI_Errhandler errhandler) {
  const int code = vendor::Comm_set_errhandler(comm, errhandler);
  if (code == MPI_SUCCESS && comm == MPI_COMM_WORLD) follow_error_handler(job);
  return code;
}

#ifdef IMPISHIM_HAVE_MPI_Errhandler_set
int Errhandler_set(Job& job, MPI_Comm comm, MPI_Errhandler errhandler) {
  return Comm_set_errhandler(job, comm, errhandler);
}
#endif

}  // namespace calls
}  // namespace impishim::shim
