/// Flow control between one source process and one destination process (IMPI 3.7, protocol ACKs). Pure counters.
#pragma once

#include <cstdint>

namespace impishim::wire {

/// The two ends' marks, equal in the whole job.
struct FlowMarks {
  std::uint32_t ackmark = 10;
  std::uint32_t hiwater = 20;
};

/// Source side: how many packets (DATA, DATASYNC) are on their way without a PROTOACK.
class SendCredit {
 public:
  [[nodiscard]] bool may_send(const FlowMarks& marks) const { return outstanding_ < marks.hiwater; }
  void packet_sent() { ++outstanding_; }
  /// A PROTOACK has come. False: the peer acknowledged packets that were never sent.
  [[nodiscard]] bool acknowledged(const FlowMarks& marks) {
    if (outstanding_ < marks.ackmark) return false;
    outstanding_ -= marks.ackmark;
    return true;
  }
  [[nodiscard]] std::uint32_t outstanding() const { return outstanding_; }

 private:
  std::uint32_t outstanding_ = 0;
};

/// Destination side: packets that the process has received since its last PROTOACK.
class ReceiveCredit {
 public:
  /// True: a PROTOACK is due now.
  [[nodiscard]] bool packet_received(const FlowMarks& marks) {
    if (++received_ < marks.ackmark) return false;
    received_ = 0;
    return true;
  }
  [[nodiscard]] std::uint32_t received() const { return received_; }

 private:
  std::uint32_t received_ = 0;
};

}  // namespace impishim::wire
