// SPDX-License-Identifier: Apache-2.0
/// The forms of impirun that look into a running job: -why, -top and -metrics.
#pragma once

#include <cstdint>
#include <string>

namespace impishim::wire {

/// Exit status of `impirun -why` for a job in which something cannot end.
constexpr int kStuckStatus = 3;

enum class WatchForm : std::uint8_t { kWhy, kTop, kMetrics };

struct WatchOptions {
  WatchForm form = WatchForm::kWhy;
  std::string server;  ///< address:port of the job's rendezvous server
  bool json = false;   ///< of kWhy, and of kTop with `once`
  bool once = false;   ///< kTop: print the rates of one interval, and end
};

/// Runs a form, and prints to standard output. Returns the exit status: 0; 1 if the job cannot be
/// asked; 2 for wrong settings; kStuckStatus.
[[nodiscard]] int run_watch_command(const WatchOptions& options);

}  // namespace impishim::wire
