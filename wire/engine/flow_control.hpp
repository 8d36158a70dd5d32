// SPDX-License-Identifier: Apache-2.0
/// Flow control between one source process and one destination process (IMPI 3.7, protocol ACKs).
/// Pure counters.
#pragma once

#include <cstdint>

namespace impishim::wire {

/// The two ends' marks, and what a packet counts towards them.
///
/// IMPI counts packets, whatever their size: all but PROTOACK and FINI. Answers (SYNCACK,
/// CANCELYES, CANCELNO) count, but are never held back, since the other end may wait for them
/// before it acknowledges anything. Between processes of this library a packet counts by its size,
/// so that as many bytes are on their way at most, but more short ones: a pair that exchanges
/// nothing but short packets stops a sixteenth as often. Control packets fill nothing and count
/// nothing there.
class FlowMarks {
 public:
  /// The rest of a long message, once a receive has matched, counts as if its packets were empty:
  /// it goes to its place as it comes and fills nothing here, so what it needs is to be seen, not
  /// to be waited for.
  static constexpr std::uint32_t kRestPayload = 0;
  /// What a full packet counts where packets count by their size; the shortest counts 1.
  static constexpr std::uint32_t kFullPacket = 16;

  /// IMPI's: `ackmark` packets between two acknowledgements, at most `hiwater` ahead of them.
  static FlowMarks of_packets(std::uint32_t ackmark, std::uint32_t hiwater) {
    return {ackmark, hiwater, 0};
  }
  /// The same of packets of `datalen` bytes, or of as many shorter ones as weigh as much.
  static FlowMarks by_size(std::uint32_t ackmark, std::uint32_t hiwater, std::uint32_t datalen) {
    return {kFullPacket * ackmark, kFullPacket * hiwater, datalen};
  }

  [[nodiscard]] std::uint32_t ackmark() const { return ackmark_; }
  [[nodiscard]] std::uint32_t hiwater() const { return hiwater_; }
  /// What a packet with `payload` bytes, at most datalen, counts: never more than ackmark().
  [[nodiscard]] std::uint32_t cost(std::uint32_t payload) const {
    if (datalen_ == 0) return 1;
    const std::uint64_t beyond_first = std::uint64_t{kFullPacket - 1} * payload;
    // Most packets, without the division.
    if (beyond_first <= datalen_) return beyond_first == 0 ? 1 : 2;
    return 1 + static_cast<std::uint32_t>((beyond_first + datalen_ - 1) / datalen_);
  }
  /// Whether control packets count, one each: towards other implementations.
  [[nodiscard]] bool counts_control() const { return datalen_ == 0; }

 private:
  FlowMarks(std::uint32_t ackmark, std::uint32_t hiwater, std::uint32_t datalen)
      : ackmark_(ackmark), hiwater_(hiwater), datalen_(datalen) {}

  std::uint32_t ackmark_;
  std::uint32_t hiwater_;
  std::uint32_t datalen_;  ///< 0: all packets count alike
};

/// Source side: what is on its way without a PROTOACK.
class SendCredit {
 public:
  [[nodiscard]] bool may_send(const FlowMarks& marks) const {
    return outstanding_ < marks.hiwater();
  }
  /// A packet of a message goes on its way.
  void packet_sent(const FlowMarks& marks, std::uint32_t payload) {
    outstanding_ += marks.cost(payload);
  }
  /// A packet of another type than DATA, DATASYNC, PROTOACK and FINI goes on its way. An answer may
  /// do so beyond hiwater.
  void control_sent(const FlowMarks& marks) { outstanding_ += marks.counts_control() ? 1 : 0; }
  /// A PROTOACK has come. False: the peer acknowledged packets that were never sent.
  [[nodiscard]] bool acknowledged(const FlowMarks& marks) {
    if (outstanding_ < marks.ackmark()) return false;
    outstanding_ -= marks.ackmark();
    return true;
  }
  [[nodiscard]] std::uint32_t outstanding() const { return outstanding_; }

 private:
  std::uint32_t outstanding_ = 0;
};

/// Destination side: what has arrived, and what of it the process has received since its last
/// PROTOACK.
class ReceiveCredit {
 public:
  /// Whether a control packet that is no answer may come now.
  [[nodiscard]] bool question_may_arrive(const FlowMarks& marks) const {
    return !marks.counts_control() || unacknowledged_ < marks.hiwater();
  }
  /// A packet of a message has come. False: the source did not wait for acknowledgements.
  [[nodiscard]] bool packet_arrived(const FlowMarks& marks, std::uint32_t payload) {
    if (unacknowledged_ >= marks.hiwater()) return false;
    unacknowledged_ += marks.cost(payload);
    return true;
  }
  /// The process has received such a packet. True: a PROTOACK is due now.
  [[nodiscard]] bool packet_received(const FlowMarks& marks, std::uint32_t payload) {
    return received_more(marks, marks.cost(payload));
  }
  /// A packet of another type than DATA, DATASYNC, PROTOACK and FINI has come, and is received at
  /// once. True: a PROTOACK is due now.
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
