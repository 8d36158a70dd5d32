// SPDX-License-Identifier: Apache-2.0
/// How long the program's calls of MPI last, and what they send: for the statistics at the end of a
/// run (docs/statistics.md). There is a timer only in a job with IMPISHIM_STATS.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "shim/monitor/call_record.hpp"
#include "wire/base/mutex.hpp"
#include "wire/statistics/call_scope.hpp"
#include "wire/statistics/call_statistics.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::shim {

/// A message that MPI_Start sends.
struct PreparedMessage {
  std::int32_t rank = -1;
  std::uint64_t bytes = 0;
};

/// Times calls, and counts messages, of all threads.
class CallTimer {
 public:
  /// Creates a timer whose time begins now.
  CallTimer(const wire::JobMap& map, std::int32_t system);

  /// Returns the time since the start.
  [[nodiscard]] std::uint64_t now_ns() const;
  [[nodiscard]] std::int64_t began_us() const { return began_us_; }
  /// Returns the system of a world rank; -1 for a process of another job.
  [[nodiscard]] std::int32_t system_of(std::int32_t rank) const {
    const auto index = static_cast<std::size_t>(rank);
    return rank >= 0 && index < systems_.size() ? systems_[index] : -1;
  }
  [[nodiscard]] std::int32_t system() const { return system_; }

  void ended(const wire::EndedCall& call) { statistics_.add_call(call); }
  void sent(const PreparedMessage& message);
  /// Notes what MPI_Start will send with a request, and counts it when it does.
  void prepared(MPI_Request request, const PreparedMessage& message);
  void started_again(MPI_Request request);
  /// Forgets what MPI_Start would send: the handle can become that of another request.
  void freed(MPI_Request request);

  [[nodiscard]] wire::CallSums sums() const { return statistics_.sums(); }

 private:
  const std::int32_t system_;
  const std::int64_t began_us_;
  const std::int64_t began_ns_;
  std::vector<std::int32_t> systems_;  ///< by world rank
  wire::CallStatistics statistics_;
  Mutex mutex_;
  std::unordered_map<std::uint64_t, PreparedMessage> prepared_ IMPISHIM_GUARDED_BY(mutex_);
};

/// Times the call that the thread is in while it exists. Calls inside of that one belong to it.
class TimedCall {
 public:
  /// `timer` is null if no call is timed.
  TimedCall(CallTimer* timer, std::size_t function);
  ~TimedCall();
  TimedCall(const TimedCall&) = delete;
  TimedCall& operator=(const TimedCall&) = delete;

  [[nodiscard]] bool is_timed() const { return timer_ != nullptr; }
  /// Notes what the call concerns: a message or a collective.
  void concerns(const RecordedWait& wait);
  void concerns_request(MPI_Request request, const RecordedWait* started);

 private:
  void concerns(std::int32_t system);
  [[nodiscard]] static bool& inside();

  static constexpr std::int32_t kNone = -2;
  static constexpr std::int32_t kSeveral = -1;
  CallTimer* timer_;
  std::size_t function_;
  std::uint64_t begin_ns_ = 0;
  bool concerns_own_ = false;
  std::int32_t other_ = kNone;  ///< the other system that the call concerns
  bool waits_for_message_ = false;
};

/// Returns the size of a message. 0 if the arguments are invalid.
[[nodiscard]] std::uint64_t message_bytes(MPI_Count count, MPI_Datatype datatype);

}  // namespace impishim::shim
