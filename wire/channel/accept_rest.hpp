// SPDX-License-Identifier: Apache-2.0
/// Lets a listener rest while this process has no descriptor for another connection.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace impishim::wire {

/// A connection that cannot be accepted stays in the listener's queue, which is readable all the
/// time. The accepting code leaves the listener out of poll(2) while this rests, and tries again
/// then.
/// Not thread-safe.
class AcceptRest {
 public:
  using Clock = std::chrono::steady_clock;
  /// How long a listener rests.
  static constexpr auto kRest = std::chrono::milliseconds(50);
  /// Least time between two log lines.
  static constexpr auto kInterval = std::chrono::seconds(60);

  /// Returns true if accept4(2) failed with `error` for a lack that may pass.
  [[nodiscard]] static bool is_lack(int error);
  /// Begins a rest, since accept4(2) has failed with `error`. The log line begins with
  /// `log_prefix`.
  void begin(int error, const std::string& log_prefix);
  /// Notes that a connection has been accepted.
  void accepted() { trouble_.clear(); }
  [[nodiscard]] bool rests() const { return Clock::now() < until_; }
  /// Returns why no connection can be accepted, and the cure; empty: it is possible.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

 private:
  Clock::time_point until_{};
  std::optional<Clock::time_point> said_;
  std::string trouble_;
};

}  // namespace impishim::wire
