// SPDX-License-Identifier: Apache-2.0
/// Detection of cut connections: the peer's machine has not answered probes for too long.
#pragma once

#include <chrono>
#include <optional>

namespace impishim::wire {

/// Time for which a peer's machine may leave data or TCP probes unanswered before the connection
/// counts as cut.
inline constexpr std::chrono::milliseconds kDeadPeerTime{30000};

/// How the kernel probes an idle connection, and when a silent machine counts as gone
/// (IMPISHIM_HEARTBEAT).
struct Heartbeat {
  std::chrono::seconds interval{5};  ///< between two probes; the first one comes after three

  [[nodiscard]] std::chrono::milliseconds dead_after() const { return 6 * interval; }
};

/// Interval between two observations of a connection's state.
inline constexpr std::chrono::milliseconds kSilenceCheckInterval{3000};

/// The kernel's knowledge about a connection at one moment.
struct AnswerState {
  bool unanswered = false;  ///< retransmissions or probes of a closed window are in progress, and
                            ///< none has been answered
  std::chrono::milliseconds since_ack{0};  ///< time since the peer's machine acknowledged anything
};

/// Distinguishes a peer's machine that is gone from one that answers slowly. The kernel of a
/// stopped process still answers the probes of a full window. These probes are up to two minutes
/// apart, so the time since the last answer alone is not enough. A peer is gone if its last answer
/// is old *and* all observations have seen unanswered probes for half that time. (TCP_USER_TIMEOUT
/// would end the connection of a stopped process: it counts the time of a closed window, even if
/// probes are answered.)
class SilenceDetector {
 public:
  using Clock = std::chrono::steady_clock;

  explicit SilenceDetector(std::chrono::milliseconds dead_after = kDeadPeerTime)
      : dead_after_(dead_after) {}

  /// Returns true if the peer's machine is gone. Call it every kSilenceCheckInterval.
  [[nodiscard]] bool observe(Clock::time_point now, const AnswerState& state) {
    if (!state.unanswered) {
      unanswered_since_.reset();
      return false;
    }
    const bool answered_between = state.since_ack < last_since_ack_;
    if (!unanswered_since_ || answered_between) unanswered_since_ = now;
    last_since_ack_ = state.since_ack;
    return state.since_ack >= dead_after_ - kSilenceCheckInterval &&
           now - *unanswered_since_ >= dead_after_ / 2;
  }

 private:
  std::chrono::milliseconds dead_after_;
  std::optional<Clock::time_point> unanswered_since_;
  std::chrono::milliseconds last_since_ack_{0};
};

}  // namespace impishim::wire
