// SPDX-License-Identifier: Apache-2.0
// MPI_Init, MPI_Init_thread, MPI_Finalize, MPI_Abort.
#include <fmt/format.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "shim/comm/attribute.hpp"
#include "shim/completion/wait.hpp"
#include "shim/datatype/datatype.hpp"
#include "shim/dynamic/parent.hpp"
#include "shim/entry/vendor_lookup.hpp"
#include "shim/entry_points.hpp"
#include "shim/error/errors.hpp"
#include "shim/error/failure.hpp"
#include "shim/handle/own_handle.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/diagnostics.hpp"
#include "shim/job/job.hpp"
#include "shim/job/lost_systems.hpp"
#include "shim/monitor/observed_call.hpp"
#include "shim/startup/clock_comparison.hpp"
#include "shim/startup/init.hpp"
#include "shim/startup/monitoring.hpp"
#include "shim/startup/session.hpp"
#include "shim/tool/tool_state.hpp"
#include "shim/tool/vendor_settings.hpp"
#include "shim/values/mpi_library.hpp"
#include "shim/vendor.hpp"
#include "wire/base/log.hpp"
#include "wire/base/mutex.hpp"
#include "wire/base/result.hpp"
#include "wire/watch/monitor_thread.hpp"  // IWYU pragma: keep

namespace impishim::shim {
namespace {

/// Detaches the child of a fork() from the job. It has no progress thread and must not use the
/// sockets: it is not a process of the job. It closes them, since otherwise the peers of a parent
/// that dies would not notice while the child lives. It also restores its own handling of SIGUSR1.
void forget_job_in_child() {
  ranks_inside = {};
  Job* job = the_job.exchange(nullptr, std::memory_order_acq_rel);
  if (job == nullptr) return;
  job->engine->close_in_forked_child();
  if (job->server) job->server->close_in_forked_child();
  if (job->reconnector) job->reconnector->close_in_forked_child();
  the_recorder.store(nullptr);
  if (job->monitor) job->monitor->close_in_forked_child();
  restore_signal(job->diagnostics);
}

/// Ends this system. Usually every rank has the same error; rank 0 prints it and ends all ranks.
/// The others print it if they still run after a while. The environment may differ between ranks,
/// so this function must not wait for all of them.
[[noreturn]] void fail_startup(const Error& error) {
  int rank = 0;
  vendor::Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank != 0) {
    const timespec bound{2, 0};
    nanosleep(&bound, nullptr);
  }
  write_final_message(error.text);
  vendor::Abort(MPI_COMM_WORLD, 1);
  _exit(1);
}

/// Ends a process that is to join with the library for a different MPI than its own. Every handle
/// would be a wild pointer there. impirun checks programs, but not the programs that a script or an
/// interpreter starts.
void refuse_another_mpi() {
  if (secure_getenv("IMPISHIM_SERVER") == nullptr) return;
  const std::string used = unfit_vendor();
  if (used.empty()) return;
  write_final_message(fmt::format(
      "the program uses {}, and this libimpishim.so is built for {}: use the other build (impirun "
      "-mpi {})",
      used, IMPISHIM_VENDOR_SONAME, mpi_of_library(used)));
  _exit(1);
}

/// Joins the job if the environment requests it. `answer` is true if SIGUSR1 was free before the
/// vendor's initialisation.
void join_if_asked(bool answer) {
  auto request = JobSettings::from_environment();
  if (!request) fail_startup(request.error());
  if (!request->wanted) return;
  if (auto reserved = reserve_own_handles(); !reserved) fail_startup(reserved.error());
  int level = MPI_THREAD_SINGLE;
  vendor::Query_thread(&level);
  auto job = join(*request, level);
  if (!job) fail_startup(job.error());
  reserve_impi_keys();
  pthread_atfork(nullptr, nullptr, forget_job_in_child);
  // Not destroyed at exit: a process that ends without MPI_Finalize must not wait for other
  // processes.
  the_job.store(std::move(*job).release(), std::memory_order_release);
  Job& joined_job = *the_job.load();
  if (joined_job.world != nullptr) {
    ranks_inside = RanksInside(*joined_job.world, level != MPI_THREAD_MULTIPLE);
    joined_job.receive_sources = ReceiveSources(ranks_inside.offset());
  }
  ToolState::instance().keep_settings(joined_job);
  start_monitoring(joined_job, *request);
  compare_clocks(joined_job);
  if (answer) answer_signals(joined_job);
  follow_error_handler(joined_job);
}

/// Joins the job, and connects it with its parents if it was spawned.
int join_job(bool answer) {
  join_if_asked(answer);
  Job* job = the_job.load();
  return job == nullptr ? MPI_SUCCESS : connect_with_parent(*job);
}

/// Reports shuffles that are still in use. A shuffle's threads use the engine, and its messages may
/// be anywhere in the job, so only the program can end it.
int refuse_to_leave_shuffles(const Job& job, int shuffles) {
  return raise(
      job.joined_world, MPI_ERR_OTHER, "MPI_Finalize",
      fmt::format(
          "{} not shut down: call impishim_shuffle_shutdown() in all processes before MPI_Finalize",
          shuffles == 1 ? "a shuffle was" : fmt::format("{} shuffles were", shuffles)));
}

/// Returns true if a session has initialised the vendor's MPI and joined the job, so that nothing
/// is left to do for the program's first MPI_Init.
bool begins_after_session() {
  Job* job = the_job.load();
  return job != nullptr && !job->models.world_begun.exchange(true);
}

int begin_world(const std::function<int()>& initialise) {
  const bool first = the_job.load() == nullptr;
  const int code = first ? initialise_and_join(initialise) : initialise();
  if (Job* job = the_job.load(); first && job != nullptr) job->models.world_begun = true;
  return code;
}

}  // namespace

Mutex& initialisation_mutex() {
  static Mutex mutex;
  return mutex;
}

int initialise_and_join(const std::function<int()>& initialise) {
  refuse_another_mpi();
  const bool answer = signal_is_free();
  prepare_vendor();
  const int code = initialise();
  return code == MPI_SUCCESS ? join_job(answer) : code;
}

/// Follows IMPI 2.4: a barrier over the whole job, the hosts' FINI, the server's FINI.
int leave_and_finalise(Job& job) {
  if (const Communicator* all = job.communicators.find(job.joined_world); all != nullptr) {
    // Where a collective of all processes was given up, only the hosts' FINI keep them together.
    const int code = all->broken.load() ? MPI_SUCCESS : calls::Barrier(job, job.joined_world);
    if (code != MPI_SUCCESS && !all->broken.load()) return code;
  }
  compare_clocks(job);
  job.failure_notices.stop(job);
  drive_until(job, true, [&] { return job.engine->idle(); });
  job.engine->close();
  drive_until(job, true, [&] { return job.engine->closed(); });
  leave(job);
  ranks_inside = {};
  const std::unique_ptr<Job> ended(the_job.exchange(nullptr, std::memory_order_acq_rel));
  ToolState::instance().keep_counters(*ended);
  stop_answering(ended->diagnostics);
  ended->requests.reset();
  release_datatype_cache();
  return vendor::Finalize();
}

namespace calls {

int Init(int* argc, char*** argv) {
  const MutexLock lock(initialisation_mutex());
  if (begins_after_session()) return MPI_SUCCESS;
  return begin_world([&] { return vendor::Init(argc, argv); });
}

int Init_thread(int* argc, char*** argv, int required, int* provided) {
  const MutexLock lock(initialisation_mutex());
  if (begins_after_session()) return vendor::Query_thread(provided);
  return begin_world([&] { return vendor::Init_thread(argc, argv, required, provided); });
}

/// While the job runs, a session may have initialised the vendor's MPI.
int Initialized(Job& job, int* flag) {
  *flag = job.models.world_begun.load() ? 1 : 0;
  return MPI_SUCCESS;
}

int Finalized(Job& job, int* flag) {
  *flag = job.models.world_over.load() ? 1 : 0;
  return MPI_SUCCESS;
}

/// Deletes the attributes of MPI_COMM_SELF first, while everything still works (MPI-3.1 8.7). With
/// sessions in use, the end of the last one leaves the job.
int Finalize(Job& job) {
  if (!job.models.world_begun.load() || job.models.world_over.load()) {
    return raise(MPI_COMM_SELF, MPI_ERR_OTHER, "MPI_Finalize",
                 "the program has not called MPI_Init, or has called MPI_Finalize before");
  }
  delete_self_attributes(job);
  if (const int left = job.shuffles.load(); left > 0) return refuse_to_leave_shuffles(job, left);
  if (job.models.sessions.load() == 0) return leave_and_finalise(job);
  job.models.world_over = true;
  return MPI_SUCCESS;
}

int Abort(Job& job, MPI_Comm comm, int errorcode) {
  write_log_buffer();
  announce_end(job, errorcode,
               fmt::format("MPI_Abort({}) was called by rank {}", errorcode, job.here));
  keep_records(job);
  let_launcher_read();
  return vendor::Abort(comm, errorcode);
}

}  // namespace calls
}  // namespace impishim::shim
