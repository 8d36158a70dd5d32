// SPDX-License-Identifier: Apache-2.0
/// Runs the library's collectives, or any Task on a Team, on thousands of simulated processes and
/// tells when the last one has finished. Messages have sizes and times, and no contents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collectives/collectives.hpp"
#include "tests/scale/collectives/network.hpp"

namespace impishim::scale {

/// What one collective took.
struct Timing {
  double us = 0;                ///< until the last process has finished
  std::uint64_t crossings = 0;  ///< messages between systems
  std::uint64_t crossing_bytes = 0;
  std::string failure;  ///< empty: none
};

class TimedJob {
 public:
  /// Systems of the same size, whose ranks are consecutive. The data of two systems is alike.
  TimedJob(std::int32_t systems, std::int32_t procs_of_a_system, const NetworkTimes& times);
  ~TimedJob();
  TimedJob(const TimedJob&) = delete;
  TimedJob& operator=(const TimedJob&) = delete;

  [[nodiscard]] std::int32_t size() const;
  using MakeTask =
      std::function<collectives::Task(std::int32_t rank, const collectives::Team& team)>;
  /// Steps the processes in the order of their clocks, which all begin at 0. Fails if they wait for
  /// each other.
  [[nodiscard]] Timing run(const MakeTask& make_task);

  class State;

 private:
  std::int32_t systems_;
  std::int32_t procs_;
  NetworkTimes times_;
};

}  // namespace impishim::scale
