// SPDX-License-Identifier: Apache-2.0
/// How much a process may have at the next process of a route that is to be passed on from there.
/// Pure counters.
///
/// IMPI's own flow control is between a message's two ends: it bounds what waits at the receiver,
/// for each sender, but not what the procs between them hold. Between processes of this library
/// each link therefore bounds that as well: a sender stops at its limit, and the relaying process
/// returns what has left it. Packets that end at the next process, and acknowledgements, always
/// pass, so that nothing that relaying waits for waits for relaying: a packet enters the limit at
/// most twice, on the way to its sender's representative and to the receiver's, always in this
/// order, and the last hop has no limit but IMPI's.
#pragma once

#include <cstdint>

namespace impishim::wire {

/// The sender's side of a link.
class RelayCredit {
 public:
  /// Bytes; 0: no limit, as towards hosts of other implementations.
  explicit RelayCredit(std::uint64_t limit = 0) : limit_(limit) {}
  [[nodiscard]] bool may_send() const { return limit_ == 0 || outstanding_ < limit_; }
  void sent(std::uint64_t bytes) {
    if (limit_ != 0) outstanding_ += bytes;
  }
  /// False: more comes back than was sent.
  [[nodiscard]] bool returned(std::uint64_t bytes) {
    if (bytes == 0 || bytes > outstanding_) return false;
    outstanding_ -= bytes;
    return true;
  }
  [[nodiscard]] std::uint64_t outstanding() const { return outstanding_; }

 private:
  std::uint64_t limit_;
  std::uint64_t outstanding_ = 0;
};

/// The relaying process's side.
class RelayDebt {
 public:
  /// Returned at once from here on. Limits are at least twice as much, so that a sender which has
  /// stopped is always told: what it has sent cannot stay away in shares smaller than this.
  static constexpr std::uint64_t kShare = 16384;
  static constexpr std::uint64_t kLeastLimit = 2 * kShare;

  void left(std::uint64_t bytes) { owed_ += bytes; }
  [[nodiscard]] bool due() const { return owed_ >= kShare; }
  /// What is to be returned now; it counts as returned.
  [[nodiscard]] std::uint64_t take() {
    const std::uint64_t bytes = owed_;
    owed_ = 0;
    return bytes;
  }

 private:
  std::uint64_t owed_ = 0;
};

}  // namespace impishim::wire
