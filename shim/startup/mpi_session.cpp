// SPDX-License-Identifier: Apache-2.0
// MPI_Session_init, MPI_Session_finalize, MPI_Session_get_info (MPI-4.0 11.3).
//
// A session's handle is the vendor's. Below it the World Model of the vendor always runs, since
// this library needs a communicator of all processes of its system. So a program that uses sessions
// alone joins the job at its first session. When the last session ends, another may follow, so the
// job is left when the process exits.
#include "shim/entry_points.hpp"  // IWYU pragma: keep
#ifdef IMPISHIM_HAVE_MPI_Session_init

#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "shim/handle/hints.hpp"
#include "shim/handle/inside_vendor.hpp"
#include "shim/job/job.hpp"
#include "shim/job/process_models.hpp"
#include "shim/startup/init.hpp"
#include "shim/vendor.hpp"
#include "wire/base/log.hpp"
#include "wire/base/mutex.hpp"

namespace impishim::shim {
namespace {

constexpr const char* kLevelKey = "thread_level";
constexpr std::array<std::pair<int, const char*>, 4> kLevels{
    {{MPI_THREAD_SINGLE, "MPI_THREAD_SINGLE"},
     {MPI_THREAD_FUNNELED, "MPI_THREAD_FUNNELED"},
     {MPI_THREAD_SERIALIZED, "MPI_THREAD_SERIALIZED"},
     {MPI_THREAD_MULTIPLE, "MPI_THREAD_MULTIPLE"}}};

/// Returns the thread level that the program asks for. Without a wish it is the highest, since each
/// session may be used by a thread of its own.
int wished_level(MPI_Info info) {
  const auto wish = hint(info, kLevelKey);
  for (const auto& [level, name] : kLevels) {
    if (wish == name) return level;
  }
  return MPI_THREAD_MULTIPLE;
}

/// Leaves the job at the exit of a program that has used sessions alone, and has ended them. A
/// process that fails, or ends with a session in use, does not wait for others: it ends the job.
void leave_at_exit(int status, void* /*unused*/) {
  Job* job = the_job.load();
  if (job == nullptr || status != 0) return;
  if (job->models.world_begun.load() || job->models.sessions.load() != 0) return;
  static_cast<void>(leave_and_finalise(*job));  // an error has been raised
}

/// Initialises MPI and joins the job, with the World Model that the program has not begun.
int join_for_session(MPI_Info info) {
  int provided = MPI_THREAD_SINGLE;
  const int level = wished_level(info);
  const int code =
      initialise_and_join([&] { return vendor::Init_thread(nullptr, nullptr, level, &provided); });
  if (code == MPI_SUCCESS && the_job.load() != nullptr) on_exit(leave_at_exit, nullptr);
  return code;
}

/// Reports that the job has been left. The vendor's error handlers do not work any more.
int refuse_after_end(MPI_Errhandler errhandler) {
  log_line(
      LogArea::kStartup, LogLevel::kError,
      "MPI_Session_init: this process has left the joined job in MPI_Finalize: make the session "
      "before MPI_Finalize");
  if (errhandler == MPI_ERRORS_ARE_FATAL) _exit(1);
  return MPI_ERR_OTHER;
}

int begin_session(MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session) {
  int code = vendor::Session_init(info, errhandler, session);
  if (code != MPI_SUCCESS) return code;
  // MPICH 4.0.2 forgets the error handler.
  code = vendor::Session_set_errhandler(*session, errhandler);
  if (Job* job = the_job.load(); job != nullptr) ++job->models.sessions;
  return code;
}

}  // namespace

namespace calls {

int Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session) {
  if (vendor_depth.value() != 0 || (the_job.load() == nullptr && !asks_to_join()))
    return vendor::raw::Session_init(info, errhandler, session);
  const MutexLock lock(initialisation_mutex());
  *session = MPI_SESSION_NULL;
  if (the_job.load() == nullptr) {
    int over = 0;
    vendor::Finalized(&over);
    if (over != 0) return refuse_after_end(errhandler);
    if (const int code = join_for_session(info); code != MPI_SUCCESS) return code;
  }
  return begin_session(info, errhandler, session);
}

int Session_finalize(Job& job, MPI_Session* session) {
  const int code = vendor::Session_finalize(session);
  if (code != MPI_SUCCESS) return code;
  const bool last = --job.models.sessions == 0;
  return last && job.models.world_over.load() ? leave_and_finalise(job) : MPI_SUCCESS;
}

/// The thread level is the same for all sessions and the World Model.
int Session_get_info(Job& job, MPI_Session session, MPI_Info* info_used) {
  const int code = vendor::Session_get_info(session, info_used);
  if (code != MPI_SUCCESS) return code;
  const char* level = "MPI_THREAD_SINGLE";
  for (const auto& [number, name] : kLevels) level = number == job.thread_level ? name : level;
  return vendor::Info_set(*info_used, kLevelKey, level);
}

}  // namespace calls
}  // namespace impishim::shim
#endif
