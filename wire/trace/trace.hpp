// SPDX-License-Identifier: Apache-2.0
/// The trace of one process: its latest events, in a ring in memory (docs/trace.md).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "wire/base/mutex.hpp"
#include "wire/trace/clock_line.hpp"
#include "wire/trace/trace_event.hpp"

namespace impishim::wire {

/// The events that a trace has, and who made them.
struct TraceContent {
  std::vector<TraceEvent> events;    ///< in the order in which they were added
  std::uint64_t lost = 0;            ///< older events that the ring had no room for
  std::vector<std::string> threads;  ///< names, indexed by TraceEvent::thread
  ClockLine clock;
};

/// Collects events of all threads.
class Trace {
 public:
  /// Creates a trace that keeps the latest events in at most `bytes` of memory. `skew_ns` is added
  /// to the clock, for tests.
  explicit Trace(std::size_t bytes, std::int64_t skew_ns = 0);
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// Returns the time of this node's monotonic clock.
  [[nodiscard]] std::int64_t now_ns() const {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::nanoseconds(now).count() + skew_ns_;
  }

  /// Returns the number of traced calls that the calling thread is in. Only waits inside of a call
  /// are traced, so MPI_Init and MPI_Finalize have none.
  [[nodiscard]] static std::uint32_t& calls_of_thread();
  /// Adds an event of the calling thread.
  void add(TraceEvent event);
  /// Adds an event without a duration, which happens now.
  void add_now(TraceEvent event);
  /// Notes a comparison of this process's clock with that of the job's first process.
  void measured(const ClockSample& sample);

  /// Ends the trace, and gives its content to the first caller; nothing to others.
  [[nodiscard]] std::optional<TraceContent> take();

 private:
  [[nodiscard]] std::uint16_t thread_number();

  const std::size_t capacity_;
  const std::int64_t skew_ns_;
  Mutex mutex_;
  bool ended_ IMPISHIM_GUARDED_BY(mutex_) = false;
  std::vector<TraceEvent> ring_ IMPISHIM_GUARDED_BY(mutex_);
  std::uint64_t added_ IMPISHIM_GUARDED_BY(mutex_) = 0;
  std::vector<std::string> threads_ IMPISHIM_GUARDED_BY(mutex_);
  ClockLine clock_ IMPISHIM_GUARDED_BY(mutex_);
};

}  // namespace impishim::wire
