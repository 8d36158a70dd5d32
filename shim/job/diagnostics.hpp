// SPDX-License-Identifier: Apache-2.0
/// What a joined process tells of itself: its state on a signal and in a stalled wait, its
/// statistics at the end.
#pragma once

#include <signal.h>

#include <string>

#include "wire/base/result.hpp"

namespace impishim::shim {

struct Job;

struct Diagnostics {
  bool on_signal =
      true;  ///< IMPISHIM_DUMP_SIGNAL: SIGUSR1 asks for the state, if the program has no use for it
  int stall_seconds =
      0;  ///< IMPISHIM_STALL_DUMP: a wait that has lasted as long tells the state, once; 0: never
  int stand_seconds =
      5;  ///< IMPISHIM_TEST_STALL_SECONDS: after so long a blocking call of the vendor's is told of
  std::string stats_prefix;     ///< IMPISHIM_STATS: statistics go to this followed by ".RANK.json";
                                ///< empty: nowhere
  struct sigaction vendors {};  ///< for SIGUSR1, while this library answers it
  /// kConfiguration: what is none of the above.
  [[nodiscard]] static Result<Diagnostics> from_environment();
};

/// Whether nothing has been set for SIGUSR1 yet. Ask before the vendor's MPI_Init: MPICH sets a
/// handler of its own there.
[[nodiscard]] bool signal_is_free();
/// Begins to answer SIGUSR1, and then calls whom the vendor has set for it. Call when the job runs,
/// if the signal was free.
void answer_signals(Job& job);
/// Gives SIGUSR1 back to the vendor's handler, if it is this library's. Async-signal-safe.
void restore_signal(const Diagnostics& diagnostics);
/// When the_job no longer leads to the job object, and before that goes.
void stop_answering(const Diagnostics& diagnostics);
/// Writes the statistics file, if one is asked for; what keeps it from that is a warning.
void write_statistics(Job& job);

}  // namespace impishim::shim
