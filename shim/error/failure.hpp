// SPDX-License-Identifier: Apache-2.0
/// What a process does when the engine has failed.
#pragma once

#include <string>

#include "shim/job/job.hpp"
#include "wire/base/result.hpp"

namespace impishim::shim {

/// Before a process ends the job: waits until its launcher has read what it has written to standard
/// error, since a launcher drops what it has not read by then. At most 1.1 s.
void let_launcher_read();

/// Prints why the job ends, and waits until the launcher has read it.
void say_last(const std::string& text);

/// Ends the job after job.engine->failure(): prints its text if this process is the one to print it
/// (the host's representative, or whoever lost a neighbour of its own), and ends the native job
/// with the exit code that an abort announced, or 1. Application threads only.
[[noreturn]] void end_after_failure(Job& job);

/// Ends the job if the engine has failed: before the error of one operation, which would end it
/// with another exit code.
inline void heed_failure(Job& job) {
  if (job.engine->failure() != nullptr) end_after_failure(job);
}

/// The same as end_after_failure() from the progress thread, which may not call MPI: the launcher
/// ends the rest of the system.
[[noreturn]] void exit_after_failure(const Job& job, const Error& failure);

/// Tells the other systems that the job is over, and waits a moment for that to have left this
/// host: the vendor's abort, which follows, ends the representative that passes it on. At most half
/// a second.
void announce_end(Job& job, int code, const std::string& text);

}  // namespace impishim::shim
