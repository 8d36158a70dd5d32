// SPDX-License-Identifier: Apache-2.0
/// Bounds how many bytes a process may have at the next process of a route that are to be relayed
/// from there. Pure counters.
///
/// IMPI's own flow control is between a message's two ends. It bounds what waits at the receiver,
/// for each sender, but not what the procs between them hold. Between processes of this library
/// each link therefore has a bound as well: a sender stops at its limit, and the relaying process
/// returns credit for what has left it.
///
/// Packets addressed to the next process, and acknowledgements, bypass this limit, so relaying
/// never waits on itself and cannot deadlock. A packet counts against a limit at most twice: on the
/// way to its sender's representative and to the receiver's representative, always in this order.
/// The last hop has no limit but IMPI's.
#pragma once

#include <cstdint>

namespace impishim::wire {

/// The sender's side of a link.
class RelayCredit {
 public:
  /// `limit` is in bytes; 0: no limit, as towards hosts of other implementations.
  explicit RelayCredit(std::uint64_t limit = 0) : limit_(limit) {}
  [[nodiscard]] bool may_send() const { return limit_ == 0 || outstanding_ < limit_; }
  void sent(std::uint64_t bytes) {
    if (limit_ != 0) outstanding_ += bytes;
  }
  /// Returns false if more comes back than was sent.
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

/// The relaying process's side of a link.
class RelayDebt {
 public:
  /// Amount from which credit is returned at once. Limits are at least twice as much, so that a
  /// sender that has stopped always receives credit. The bytes that it has sent cannot all be held
  /// in shares smaller than this.
  static constexpr std::uint64_t kShare = 16384;
  static constexpr std::uint64_t kLeastLimit = 2 * kShare;

  void left(std::uint64_t bytes) { owed_ += bytes; }
  [[nodiscard]] bool due() const { return owed_ >= kShare; }
  /// Returns the bytes of credit that are to be returned now; they count as returned.
  [[nodiscard]] std::uint64_t take() {
    const std::uint64_t bytes = owed_;
    owed_ = 0;
    return bytes;
  }

 private:
  std::uint64_t owed_ = 0;
};

}  // namespace impishim::wire
