// SPDX-License-Identifier: Apache-2.0
/// Diagnostic output of a joined process: its state on a signal and in a stalled wait, and where
/// its statistics and its trace go (monitor/statistics_file.hpp, monitor/trace_file.hpp).
#pragma once

#include <signal.h>

#include <string>

#include "wire/base/result.hpp"
#include "wire/trace/trace_settings.hpp"

namespace impishim::shim {

struct Job;

struct Diagnostics {
  /// IMPISHIM_DUMP_SIGNAL: SIGUSR1 prints the state, unless the program uses this signal.
  bool on_signal = true;
  /// IMPISHIM_STALL_DUMP: a wait prints the state once after this time; 0: never.
  int stall_seconds = 0;
  /// IMPISHIM_TEST_STALL_SECONDS: a blocking call of the vendor's is reported after this time.
  int stand_seconds = 5;
  /// IMPISHIM_STATS: the prefix of the statistics file, followed by ".RANK.json"; empty: none.
  std::string stats_prefix;
  wire::TraceSettings trace;
  struct sigaction vendors {};  ///< for SIGUSR1, while this library handles it
  /// Reads the variables above. Error kConfiguration if a value is invalid.
  [[nodiscard]] static Result<Diagnostics> from_environment();
};

/// Returns true if no handler has been set for SIGUSR1 yet. Must be called before the vendor's
/// MPI_Init: MPICH sets a handler of its own there.
[[nodiscard]] bool signal_is_free();
/// Installs the handler for SIGUSR1, which then calls the vendor's handler, if any. Must be called
/// when the job runs, if the signal was free.
void answer_signals(Job& job);
/// Restores the vendor's handler for SIGUSR1 if this library's handler is installed.
/// Async-signal-safe.
void restore_signal(const Diagnostics& diagnostics);
/// Stops the handling of SIGUSR1. Must be called after the_job has been cleared and before the job
/// object is destroyed.
void stop_answering(const Diagnostics& diagnostics);

}  // namespace impishim::shim
