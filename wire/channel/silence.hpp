/// When a connection counts as cut: probes have gone unanswered by the peer's machine for too long.
#pragma once

#include <chrono>
#include <optional>

namespace impishim::wire {

/// How long a peer's machine may leave what it was sent, or TCP's probes, unanswered before the
/// connection counts as cut.
inline constexpr std::chrono::milliseconds kDeadPeerTime{30000};
/// How often a connection's state is to be observed.
inline constexpr std::chrono::milliseconds kSilenceCheckInterval{3000};

/// What the kernel knows of a connection at one moment.
struct AnswerState {
  bool unanswered =
      false;  ///< retransmissions or probes of a closed window are under way, none of them answered
  std::chrono::milliseconds since_ack{0};  ///< since the peer's machine acknowledged anything
};

/// Tells a peer's machine that is gone from one that answers slowly. A process that is stopped
/// leaves its kernel answering the probes of a full window; these come up to two minutes apart, so
/// the time since the last answer alone says nothing. A peer is gone if its last answer is old
/// *and* probes have been unanswered at all observations for half that time. (TCP_USER_TIMEOUT ends
/// such a connection: it counts a window that stays closed, whether probes are answered or not.)
class SilenceDetector {
 public:
  using Clock = std::chrono::steady_clock;

  /// Returns true if the peer's machine is gone. To be called every kSilenceCheckInterval.
  [[nodiscard]] bool observe(Clock::time_point now, const AnswerState& state) {
    if (!state.unanswered) {
      unanswered_since_.reset();
      return false;
    }
    const bool answered_between = state.since_ack < last_since_ack_;
    if (!unanswered_since_ || answered_between) unanswered_since_ = now;
    last_since_ack_ = state.since_ack;
    return state.since_ack >= kDeadPeerTime - kSilenceCheckInterval &&
           now - *unanswered_since_ >= kDeadPeerTime / 2;
  }

 private:
  std::optional<Clock::time_point> unanswered_since_;
  std::chrono::milliseconds last_since_ack_{0};
};

}  // namespace impishim::wire
