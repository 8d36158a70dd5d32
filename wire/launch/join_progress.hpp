// SPDX-License-Identifier: Apache-2.0
/// Tells the user of a job file who has joined, how long it takes, and what is probably in the way.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"

namespace impishim::launch {

/// The state of all systems of a job until they have joined.
class JoinProgress {
 public:
  using Clock = std::chrono::steady_clock;

  struct System {
    std::string name;
    std::string host;      ///< empty: this machine
    std::string launcher;  ///< what starts the processes, in a few words
    bool queued = false;   ///< true if the launcher may wait for nodes
    bool begun = true;     ///< false until ssh has begun the system on its machine
    bool joined = false;
  };

  /// `at_once`: report each change at once, not only if joining takes more than kQuiet.
  JoinProgress(std::vector<System> systems, bool at_once, Clock::time_point now);

  /// Records that ssh has reached a system's machine.
  void begun(std::size_t system) { systems_[system].begun = true; }
  /// Records the systems whose bits are set as joined. Returns a line for the user, or an empty
  /// text.
  [[nodiscard]] std::string joined(std::uint32_t mask, Clock::time_point now);
  /// Returns a line for the user if it is time for one, or an empty text.
  [[nodiscard]] std::string report(Clock::time_point now);
  /// Returns the time until report() has something to say; a long time if all have joined.
  [[nodiscard]] std::chrono::milliseconds time_to_report(Clock::time_point now) const;
  [[nodiscard]] bool all_joined() const;

  static constexpr auto kQuiet = std::chrono::seconds(2);
  static constexpr auto kPeriod = std::chrono::seconds(10);

 private:
  [[nodiscard]] std::string text(Clock::time_point now) const;

  std::vector<System> systems_;
  bool at_once_;
  bool told_ = false;  ///< true if the user has been told of a delay
  Clock::time_point started_;
  Clock::time_point next_;
};

}  // namespace impishim::launch
