// SPDX-License-Identifier: Apache-2.0
/// What the program's calls of MPI add up to in one process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "wire/base/mutex.hpp"
#include "wire/statistics/call_scope.hpp"
#include "wire/statistics/log_histogram.hpp"
#include "wire/statistics/time_line.hpp"

namespace impishim::wire {

/// Calls of one function in one scope.
struct CallTime {
  std::uint64_t calls = 0;
  std::uint64_t ns = 0;
  LogHistogram durations;  ///< ns of each call
};

/// Messages that the program sent to one rank.
struct PeerTraffic {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;

  bool operator==(const PeerTraffic&) const = default;
};

/// A call that has ended. The times count from the start of the statistics.
struct EndedCall {
  std::size_t function = 0;  ///< its number among all functions
  CallScope scope = CallScope::kOther;
  /// The one other system whose messages the call waited for; -1: none, or several.
  std::int32_t awaited_system = -1;
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
};

/// The sums. Memory is bounded by the numbers of functions, systems and peers.
struct CallSums {
  std::vector<ByScope<CallTime>> functions;
  std::map<std::int32_t, std::uint64_t> waited_ns;  ///< by the system whose messages were awaited
  std::map<std::int32_t, PeerTraffic> sent;         ///< by the receiver's world rank
  ByScope<LogHistogram> message_bytes;
  TimeLine time_line;
};

/// Adds calls of all threads up.
class CallStatistics {
 public:
  /// `functions` is the number of functions that can be called.
  explicit CallStatistics(std::size_t functions) { sums_.functions.resize(functions); }

  void add_call(const EndedCall& call);
  /// Adds `count` messages to a rank, all of the same size.
  void add_messages(std::int32_t rank, CallScope scope, std::uint64_t at_ns, std::uint64_t count,
                    std::uint64_t bytes);
  [[nodiscard]] CallSums sums() const;

 private:
  mutable Mutex mutex_;
  CallSums sums_ IMPISHIM_GUARDED_BY(mutex_);
};

}  // namespace impishim::wire
