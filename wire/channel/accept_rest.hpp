// SPDX-License-Identifier: Apache-2.0
/// What an accepting end does where this process has no descriptor for another connection: it
/// rests, says so, and goes on.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace impishim::wire {

/// A connection that cannot be accepted stays in the listener's queue, which is readable all the
/// time. Whoever accepts leaves the listener out of poll(2) while this rests, and tries again then.
/// Not thread-safe.
class AcceptRest {
 public:
  using Clock = std::chrono::steady_clock;
  /// How long a listener rests.
  static constexpr auto kRest = std::chrono::milliseconds(50);
  /// How often it is said at most.
  static constexpr auto kInterval = std::chrono::seconds(60);

  /// Whether `error` of accept4(2) is a lack that may pass.
  [[nodiscard]] static bool is_lack(int error);
  /// accept4(2) has failed with `error`. The line that says so begins with `log_prefix`.
  void begin(int error, const std::string& log_prefix);
  /// A connection has been accepted.
  void accepted() { trouble_.clear(); }
  [[nodiscard]] bool rests() const { return Clock::now() < until_; }
  /// Why no connection can be accepted, and the cure; empty: it is possible.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

 private:
  Clock::time_point until_{};
  std::optional<Clock::time_point> said_;
  std::string trouble_;
};

}  // namespace impishim::wire
