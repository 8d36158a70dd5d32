// SPDX-License-Identifier: Apache-2.0
/// The output of a link: packets, in the order in which they leave, and the batch of short ones.
/// Knows framing and order, but not the meaning of packets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"
#include "wire/link/buffer_pool.hpp"
#include "wire/link/inline_payload.hpp"
#include "wire/link/packet_queue.hpp"
#include "wire/link/relay_credit.hpp"
#include "wire/link/traffic.hpp"
#include "wire/packet/packet.hpp"
#include "wire/statistics/log_histogram.hpp"

namespace impishim::wire {

using RawHeader = std::array<std::byte, kPacketHeaderSize>;

struct Link;
class SendOperation;

/// An outgoing packet, or a batch of short ones. The payload is in `owned`, or in the user's memory
/// until `operation` is told that it was written.
struct OutgoingPacket {
  RawHeader header;
  bool batch = false;  ///< the payload consists of whole packets, and no header precedes it
  std::span<const std::byte> payload;
  Buffer owned;
  SendOperation* operation = nullptr;  ///< told when the packet has left; may be null
  bool passes_through = false;         ///< it arrived on another link
  bool to_be_relayed = false;  ///< counts towards the link's credit: the next process passes it on
  /// The link that it arrived on, which is credited when it has left.
  Link* relayed_from = nullptr;

  [[nodiscard]] std::span<const std::byte> head() const {
    return std::span(header).first(batch ? 0 : header.size());
  }
  [[nodiscard]] std::size_t size() const { return head().size() + payload.size(); }
};

/// The functions that an output calls on its owner.
class OutputOwner {
 public:
  OutputOwner() = default;
  OutputOwner(const OutputOwner&) = delete;
  OutputOwner& operator=(const OutputOwner&) = delete;

  /// Tells that a packet with an operation has been handed to the channel entirely.
  virtual void packet_left(SendOperation& operation) = 0;
  /// Tells that a packet that arrived on `from` to be relayed has been handed to the next channel
  /// entirely.
  virtual void passed_on(Link& from, std::size_t bytes) = 0;
  /// Queues the next packet of the first of the link's streams that may send, since the link has
  /// room. Returns false if there is none.
  [[nodiscard]] virtual bool refill(Link& link) = 0;

 protected:
  ~OutputOwner() = default;
};

class LinkOutput {
 public:
  /// Most bytes of short packets in one batch.
  static constexpr std::size_t kBatchCapacity = 32768;

  /// Constructs the output of `link`, which the owner's functions receive.
  LinkOutput(Link& link, OutputOwner& owner, Channel& channel, BufferPool& buffers);
  LinkOutput(const LinkOutput&) = delete;
  LinkOutput& operator=(const LinkOutput&) = delete;
  ~LinkOutput() = default;

  /// Queues a packet, or hands it to the channel at once if nothing is queued. Packets that are to
  /// be relayed keep their order among each other, and so do the others. Packets that are to be
  /// relayed wait for credit.
  [[nodiscard]] Result<void> send(OutgoingPacket&& packet);
  /// Queues a packet without sending: for OutputOwner::refill, and for packets that a flush()
  /// follows. A short packet is copied into a batch, which leaves in one piece. Its operation is
  /// told at once, since the user's memory is free.
  void enqueue(OutgoingPacket&& packet);
  /// Queues a whole short packet, header and payload, that arrived on `from` to be relayed. Returns
  /// false if it would wait for credit; nothing was done then.
  [[nodiscard]] bool enqueue_relayed(std::span<const std::byte> packet, Link& from,
                                     bool to_be_relayed);
  /// Hands a whole short packet of this process to the channel, and queues the bytes that the
  /// channel does not take. Requires empty(). A packet that is to be relayed must have
  /// credit.
  [[nodiscard]] Result<void> send_alone(std::span<const std::byte> packet, bool to_be_relayed);
  /// Returns room for a short packet of this process, header and payload. The caller must write it
  /// before it calls any other function of the link; the packet leaves with the next flush(). A
  /// packet that is to be relayed must have credit.
  [[nodiscard]] std::byte* append(std::size_t payload, bool to_be_relayed);
  /// Returns the bytes queued by enqueue() since the last flush().
  [[nodiscard]] std::size_t batched() const { return batched_; }
  /// Returns true if a packet that is to be relayed would wait for credit.
  [[nodiscard]] bool credit_exhausted() const { return !held_.empty() || !credit.may_send(); }
  /// Queues the packets that waited for the credit that has arrived. A flush() must follow.
  void release_held();
  [[nodiscard]] bool holds() const { return !held_.empty(); }
  /// Returns the number of packets and batches that wait for room in the channel; held() returns
  /// the number of packets that wait for credit.
  [[nodiscard]] std::size_t queued() const {
    return queue_.size() + (batch_.payload.empty() ? 0 : 1);
  }
  [[nodiscard]] std::size_t held() const { return held_.size(); }
  /// Queues a packet that no process waits for. It leaves with the next packet or at the next
  /// flush(), at no extra cost. A second such packet makes both leave at once.
  [[nodiscard]] Result<void> send_deferred(OutgoingPacket&& packet);
  /// Returns true if the whole header of a packet of `operation` has left, but not all of its
  /// payload.
  [[nodiscard]] bool has_begun(const SendOperation& operation) const {
    return !queue_.empty() && queue_.begin()->operation == &operation &&
           sent_of_first_ >= kPacketHeaderSize;
  }
  /// Calls `function` with the raw header of each packet in the queues of which no byte has left.
  template <class Function>
  void for_each_unsent(const Function& function) const {
    std::size_t begun = sent_of_first_;
    for (const OutgoingPacket& packet : queue_) {
      visit_unsent(packet, begun, function);
      begun = 0;
    }
    visit_unsent(batch_, 0, function);
    for (const OutgoingPacket& packet : held_) visit_unsent(packet, 0, function);
  }
  /// Returns true if the only output is a packet from send_deferred().
  [[nodiscard]] bool has_deferred() const { return has_deferred_; }
  /// Drops all output; returns the operations that waited for it.
  [[nodiscard]] std::vector<SendOperation*> drop_all();
  /// Like drop_all(), but keeps ABORT and LOST packets, which tell the peer what has ended and why,
  /// and the packet that is partly sent.
  [[nodiscard]] std::vector<SendOperation*> drop_all_but_aborts();
  /// Counts the packets in the queues that arrived on other links as passed on, since they are
  /// about to be dropped: their senders get their credit back.
  void return_credit_of_relayed();
  /// Sends what the channel takes. Returns the number of packets that left.
  [[nodiscard]] Result<std::size_t> flush();

  [[nodiscard]] bool empty() const { return queue_.empty() && batch_.payload.empty(); }

  /// The channel is full and will announce room; it is not called before that.
  bool wants_output = false;
  /// Long messages with packets left to send; the first one has its turn.
  std::deque<SendOperation*> streams;
  /// Streams that wait until the next process has relayed enough.
  std::deque<SendOperation*> awaiting_credit;
  RelayCredit credit;  ///< credit for what the next process has to relay
  Traffic sent;        ///< sent by this process
  Traffic passed_on;   ///< arrived on other links
  Traffic copied;      ///< payloads, and their bytes, that were copied in this process's memory
  std::uint64_t send_calls = 0;
  LogHistogram batches;  ///< bytes that each call has handed to the channel

 private:
  /// Bounds on the packets of long messages that one call hands to the channel. The larger one
  /// applies while the channel takes all of them, since long calls are cheaper for TCP. The smaller
  /// one applies when it does not, since later packets wait behind them.
  static constexpr std::size_t kMinBurst = 16;
  static constexpr std::size_t kMaxBurst = 64;
  static constexpr std::size_t kMaxPieces = 2 * kMaxBurst;

  [[nodiscard]] Result<std::size_t> send_now(const OutgoingPacket& packet);
  [[nodiscard]] Result<std::size_t> send_piece(std::span<const std::byte> bytes);
  std::size_t gather_pieces(std::array<iovec, kMaxPieces>& pieces) const;
  std::size_t drop_sent(std::size_t bytes);
  /// Visits a packet, or the packets of a batch, of which `begun` bytes have left.
  template <class Function>
  static void visit_unsent(const OutgoingPacket& packet, std::size_t begun,
                           const Function& function) {
    if (!packet.batch) {
      if (begun == 0 && packet.size() > 0) function(std::span(packet.header));
      return;
    }
    for (std::size_t at = 0; at < packet.payload.size();) {
      const auto header = packet.payload.subspan(at).first<kPacketHeaderSize>();
      if (at >= begun) function(header);
      at += kPacketHeaderSize + payload_size(header);
    }
  }
  /// Returns the size of the payload behind a header that this process has written.
  [[nodiscard]] static std::size_t payload_size(
      std::span<const std::byte, kPacketHeaderSize> header);

  void count_copy(std::size_t bytes) {
    if (bytes > 0) copied.count(bytes);
  }
  [[nodiscard]] bool hold_without_credit(OutgoingPacket& packet);
  void has_left(OutgoingPacket& packet);
  void queue_up(OutgoingPacket&& packet);
  void add_to_batch(OutgoingPacket&& packet);
  [[nodiscard]] std::byte* extend_batch(std::size_t size, Link* relayed_from);
  void seal_batch();
  /// Queues the rest of a packet that is the only one, and of which the channel has taken `taken`
  /// bytes.
  [[gnu::cold]] void queue_rest(std::span<const std::byte> packet, std::size_t taken);
  [[nodiscard]] Result<bool> send_batch();
  [[nodiscard]] Result<std::size_t> hand_over(std::span<const iovec> pieces);
  void refill();

  Link& link_;
  OutputOwner& owner_;
  Channel& channel_;
  BufferPool& buffers_;
  PacketQueue<OutgoingPacket> queue_;
  OutgoingPacket batch_{};            ///< behind the queue: short packets that leave in one piece
  PacketQueue<OutgoingPacket> held_;  ///< to be relayed, but without credit yet
  std::size_t batched_ = 0;
  bool has_deferred_ = false;
  std::size_t burst_limit_ = kMinBurst;
  std::size_t sent_of_first_ = 0;  ///< bytes of the first queued packet already sent
};

}  // namespace impishim::wire
