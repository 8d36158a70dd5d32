// SPDX-License-Identifier: Apache-2.0
/// Flow control between one source process and one destination process (IMPI 3.7, protocol ACKs).
/// Pure counters.
#pragma once

#include <cstdint>
#include <limits>

namespace impishim::wire {

/// The marks of flow control between two processes, and the cost of a packet.
///
/// IMPI counts packets of any size, except PROTOACK and FINI. Answers (SYNCACK, CANCELYES,
/// CANCELNO) count, but are never held back, because the peer may wait for them before it
/// acknowledges anything. Between processes of this library a packet costs according to its size.
/// The bytes in flight have the same bound, but more short packets may be in flight. A pair of
/// processes that exchanges only short packets stalls a sixteenth as often. Control packets take no
/// buffer space, and cost nothing between processes of this library.
class FlowMarks {
 public:
  /// The payload that a packet of the rest of a long message counts as: such packets cost as if
  /// they were empty. A receive has matched, so the rest goes directly to its place and takes no
  /// buffer space here. Flow control only has to see these packets, not to make them wait.
  static constexpr std::uint32_t kRestPayload = 0;
  /// Cost of a full packet where the cost depends on the size; the shortest packet costs 1.
  static constexpr std::uint32_t kFullPacket = 16;

  /// Returns IMPI's marks: `ackmark` packets between two acknowledgements, at most `hiwater`
  /// packets ahead of them.
  static FlowMarks of_packets(std::uint32_t ackmark, std::uint32_t hiwater) {
    return {ackmark, hiwater, 0};
  }
  /// Returns the same marks for packets of `datalen` bytes, or for as many shorter packets as cost
  /// the same.
  static FlowMarks by_size(std::uint32_t ackmark, std::uint32_t hiwater, std::uint32_t datalen) {
    return {kFullPacket * ackmark, kFullPacket * hiwater, datalen};
  }

  [[nodiscard]] std::uint32_t ackmark() const { return ackmark_; }
  [[nodiscard]] std::uint32_t hiwater() const { return hiwater_; }
  /// Returns the cost of a packet with `payload` bytes (at most datalen); never more than
  /// ackmark().
  [[nodiscard]] std::uint32_t cost(std::uint32_t payload) const {
    if (datalen_ == 0) return 1;
    const std::uint64_t beyond_first = std::uint64_t{kFullPacket - 1} * payload;
    // This handles most packets without the division.
    if (beyond_first <= datalen_) return beyond_first == 0 ? 1 : 2;
    return 1 + static_cast<std::uint32_t>((beyond_first + datalen_ - 1) / datalen_);
  }
  /// Returns true if control packets cost one each. Only other implementations require that.
  [[nodiscard]] bool counts_control() const { return datalen_ == 0; }

 private:
  FlowMarks(std::uint32_t ackmark, std::uint32_t hiwater, std::uint32_t datalen)
      : ackmark_(ackmark), hiwater_(hiwater), datalen_(datalen) {}

  std::uint32_t ackmark_;
  std::uint32_t hiwater_;
  std::uint32_t datalen_;  ///< 0: all packets cost the same
};

/// Source side: cost of the packets in flight that no PROTOACK has acknowledged.
class SendCredit {
 public:
  [[nodiscard]] bool may_send(const FlowMarks& marks) const {
    return outstanding_ < marks.hiwater();
  }
  /// Counts a packet of a message that is sent.
  void packet_sent(const FlowMarks& marks, std::uint32_t payload) {
    outstanding_ += marks.cost(payload);
  }
  /// Counts a packet that is sent and whose type is not DATA, DATASYNC, PROTOACK or FINI. An answer
  /// may be sent beyond hiwater.
  void control_sent(const FlowMarks& marks) { outstanding_ += marks.counts_control() ? 1 : 0; }
  /// Counts a PROTOACK that has arrived. Returns false if the peer acknowledged packets that were
  /// never sent.
  [[nodiscard]] bool acknowledged(const FlowMarks& marks) {
    if (outstanding_ < marks.ackmark()) return false;
    outstanding_ -= marks.ackmark();
    return true;
  }
  [[nodiscard]] std::uint32_t outstanding() const { return outstanding_; }
  /// Makes every further message wait: the peer is lost.
  void exhaust() { outstanding_ = std::numeric_limits<std::uint32_t>::max() / 2; }

 private:
  std::uint32_t outstanding_ = 0;
};

/// Destination side: cost of the packets that have arrived, and of those that the process has
/// received since its last PROTOACK.
class ReceiveCredit {
 public:
  /// Returns true if a control packet that is not an answer may arrive now.
  [[nodiscard]] bool question_may_arrive(const FlowMarks& marks) const {
    return !marks.counts_control() || unacknowledged_ < marks.hiwater();
  }
  /// Counts a packet of a message that has arrived. Returns false if the source did not wait for
  /// acknowledgements.
  [[nodiscard]] bool packet_arrived(const FlowMarks& marks, std::uint32_t payload) {
    if (unacknowledged_ >= marks.hiwater()) return false;
    unacknowledged_ += marks.cost(payload);
    return true;
  }
  /// Counts such a packet as received by the process. Returns true if a PROTOACK is due now.
  [[nodiscard]] bool packet_received(const FlowMarks& marks, std::uint32_t payload) {
    return received_more(marks, marks.cost(payload));
  }
  /// Counts a packet that has arrived and whose type is not DATA, DATASYNC, PROTOACK or FINI; it is
  /// received at once. Returns true if a PROTOACK is due now.
  [[nodiscard]] bool control_received(const FlowMarks& marks) {
    if (!marks.counts_control()) return false;
    ++unacknowledged_;
    return received_more(marks, 1);
  }
  [[nodiscard]] std::uint32_t received() const { return received_; }

 private:
  [[nodiscard]] bool received_more(const FlowMarks& marks, std::uint32_t cost) {
    received_ += cost;
    if (received_ < marks.ackmark()) return false;
    received_ -= marks.ackmark();
    unacknowledged_ -= marks.ackmark();
    return true;
  }

  std::uint32_t unacknowledged_ = 0;
  std::uint32_t received_ = 0;
};

}  // namespace impishim::wire
