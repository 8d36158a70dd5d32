// SPDX-License-Identifier: Apache-2.0
/// Tells a process that has stopped from one that has nothing to say.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace impishim::wire {

/// Watches one connection. A pure state machine.
class AnswerWatch {
 public:
  using Clock = std::chrono::steady_clock;
  /// Checks that are further apart say nothing about the peer: this process has stopped itself.
  static constexpr auto kMostPause = std::chrono::seconds(15);

  enum class Advice : std::uint8_t {
    kWait,
    kAsk,     ///< ask the peer for an answer
    kGiveUp,  ///< it has answered nothing for `limit`
  };

  /// A limit of 0 is none.
  explicit AnswerWatch(std::chrono::seconds limit) : limit_(limit) {}

  /// Takes two numbers: one that grows with what arrives, and one that grows with what the peer's
  /// machine takes. Call it every few seconds. kAsk comes until asked() is called, in each silence.
  [[nodiscard]] Advice observe(Clock::time_point now, std::uint64_t heard, std::uint64_t taken) {
    const bool paused = last_check_ && now - *last_check_ > kMostPause;
    last_check_ = now;
    if (limit_.count() == 0) return Advice::kWait;
    const bool spoke = heard != heard_ || paused || !silent_since_;
    // While the road moves, the question or the answer may be on its way.
    const bool moved = spoke || taken != taken_;
    heard_ = heard;
    taken_ = taken;
    if (spoke) asked_ = false;
    if (moved) silent_since_ = now;
    if (moved) return Advice::kWait;
    if (now - *silent_since_ >= limit_) return Advice::kGiveUp;
    return asked_ ? Advice::kWait : Advice::kAsk;
  }
  void asked() { asked_ = true; }
  /// Begins again, on a new connection.
  void reset() { silent_since_.reset(); }
  [[nodiscard]] std::chrono::seconds limit() const { return limit_; }

 private:
  std::chrono::seconds limit_;
  std::optional<Clock::time_point> last_check_;
  std::optional<Clock::time_point> silent_since_;
  std::uint64_t heard_ = 0;
  std::uint64_t taken_ = 0;
  bool asked_ = false;
};

}  // namespace impishim::wire
