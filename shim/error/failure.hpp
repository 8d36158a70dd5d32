// SPDX-License-Identifier: Apache-2.0
/// The actions of a process when the engine has failed.
#pragma once

#include <string>

#include "shim/job/job.hpp"
#include "wire/base/result.hpp"

namespace impishim::shim {

/// Blocks until the launcher has read what this process wrote to standard error, at most 1.1 s.
/// Called before a process ends the job, since a launcher drops output that it has not read by
/// then.
void let_launcher_read();

/// Writes what is only in memory: the log's buffer, and the trace. For the end of a job by a
/// failure.
void keep_records(const Job& job);

/// Prints why the job ends, and blocks until the launcher has read it.
void write_final_message(const std::string& text);

/// Ends the job after job.engine->failure(). Prints its text if this process must print it: the
/// host's representative, or a process that lost one of its own peers. Ends the native job with the
/// exit code that an abort announced, or 1. Application threads only.
[[noreturn]] void end_after_failure(Job& job);

/// Ends the job if the engine has failed. Called before an error of one operation is raised, which
/// would end the job with another exit code.
inline void exit_if_engine_failed(Job& job) {
  if (job.engine->failure() != nullptr) end_after_failure(job);
}

/// Does the same as end_after_failure() on the progress thread, which may not call MPI. The
/// launcher ends the rest of the system.
[[noreturn]] void exit_after_failure(const Job& job, const Error& failure);

/// Announces the end of the job to the other systems. Waits at most half a second until the
/// announcement has left this host: the vendor's abort, which follows, ends the representative that
/// forwards it.
void announce_end(Job& job, int code, const std::string& text);

}  // namespace impishim::shim
