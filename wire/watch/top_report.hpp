// SPDX-License-Identifier: Apache-2.0
/// What `impirun -top` shows: rates between systems, queues, memory, and the calls that ranks wait
/// in. Values in, text out.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "wire/watch/monitor_session.hpp"

namespace impishim::wire {

/// The state of a job at a time.
struct Sample {
  std::chrono::steady_clock::time_point at;
  JobState state;
};

/// Bytes with headers and packets for each second.
struct PairRate {
  double bytes = 0;
  double packets = 0;
};

struct ProcessRate {
  double messages_sent = 0;
  double messages_received = 0;
  double sent_bytes = 0;
  double received_bytes = 0;
  double stalls = 0;  ///< for acknowledgements and for credit
};

/// Rates between two samples. A process that is in one of them alone has none.
struct JobRates {
  std::map<std::pair<std::int32_t, std::int32_t>, PairRate> pairs;  ///< from and to a system
  std::map<std::int32_t, ProcessRate> processes;                    ///< by rank
};
[[nodiscard]] JobRates rates_between(const Sample& before, const Sample& now);

/// Returns the lines of a screen, for a job of that name, without line ends.
[[nodiscard]] std::vector<std::string> top_lines(const std::string& name, const JobState& state,
                                                 const JobRates& rates);
/// Returns the same as one JSON object with a newline, for scripts.
[[nodiscard]] std::string top_json(const JobState& state, const JobRates& rates);

/// Returns what replaces a screen of `rows` and `columns` by these lines, in one piece and without
/// clearing it first. Lines that are too long, and those that do not fit, are cut.
[[nodiscard]] std::string screen_update(const std::vector<std::string>& lines, std::size_t rows,
                                        std::size_t columns);

}  // namespace impishim::wire
