// SPDX-License-Identifier: Apache-2.0
/// The connection to one peer: packets in and out of a channel's byte stream. Knows framing and
/// output order, but not the meaning of packets.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"
#include "wire/engine/buffer_pool.hpp"
#include "wire/engine/operation.hpp"
#include "wire/engine/packet_queue.hpp"
#include "wire/engine/relay_credit.hpp"
#include "wire/packet/packet.hpp"

namespace impishim::wire {

using RawHeader = std::array<std::byte, kPacketHeaderSize>;

class Link;

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

/// The functions that a link calls on its owner.
class LinkOwner {
 public:
  LinkOwner() = default;
  LinkOwner(const LinkOwner&) = delete;
  LinkOwner& operator=(const LinkOwner&) = delete;

  /// Checks a header that has arrived, and decides where its payload goes (see Link::Incoming).
  [[nodiscard]] virtual Result<void> packet_begins(Link& link) = 0;
  /// Handles the packet, whose payload is complete.
  [[nodiscard]] virtual Result<void> packet_ends(Link& link) = 0;
  /// Tells that a packet with an operation has been handed to the channel entirely.
  virtual void packet_left(SendOperation& operation) = 0;
  /// Tells that a packet that arrived on `from` to be relayed has been handed to the next channel
  /// entirely.
  virtual void passed_on(Link& from, std::size_t bytes) = 0;
  /// Queues the next packet of the first of the link's streams that may send, since the link has
  /// room. Returns false if there is none.
  [[nodiscard]] virtual bool refill(Link& link) = 0;

 protected:
  ~LinkOwner() = default;
};

/// Number of packets, and their bytes with headers.
struct Traffic {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
  void count(std::uint64_t size) {
    ++packets;
    bytes += size;
  }
};

/// The states of a link, in order: a link never goes back.
enum class LinkState : std::uint8_t {
  kOpen,     ///< traffic both ways
  kClosing,  ///< our FINI is queued or sent: only acknowledgements may follow
  kClosed,   ///< FINI both ways, everything sent; the channel is shut down
};

class Link {
 public:
  /// The packet that is arriving.
  struct Incoming {
    RawHeader raw;  ///< raw header of a packet for another process
    PacketHeader header;
    WorldRank source = -1;  ///< the sender, once it is checked
    /// Place of the next payload bytes; bytes that exceed it are dropped.
    std::span<std::byte> area;
    /// Place of the next packet's payload if that packet belongs to the same message; or empty.
    std::span<std::byte> ahead;
    Buffer owned;                 ///< holds the payload if it does not go to the user's memory
    std::uint32_t counts_as = 0;  ///< payload bytes that flow control counts
    ReceiveOperation* receive = nullptr;  ///< the receive of this message, if it is known
    bool unpack_at_end = false;           ///< `owned` is to be unpacked for `receive`
    Link* relay_to = nullptr;             ///< next link if the packet is for another process
    /// The packet has been handled completely, though its payload was not read.
    bool handled = false;
  };

  /// The processes that a packet names, and its next link. Kept because consecutive packets often
  /// name the same two processes.
  struct Route {
    ProcId source_id;
    ProcId destination_id;
    WorldRank source = -1;
    WorldRank destination = -1;
    Link* relay_to = nullptr;    ///< null: the destination is this process
    bool to_be_relayed = false;  ///< the peer of `relay_to` passes on packets for the destination
  };

  static constexpr std::size_t kJoinedSize =
      1024;  ///< largest payload that is copied behind its header
  /// Most bytes of short packets in one batch.
  static constexpr std::size_t kBatchCapacity = 32768;

  Link(LinkOwner& owner, std::unique_ptr<Channel> channel, BufferPool& buffers,
       std::uint32_t max_payload);

  /// Queues a packet, or hands it to the channel at once if nothing is queued. Packets that are to
  /// be relayed keep their order among each other, and so do the others. Packets that are to be
  /// relayed wait for credit.
  [[nodiscard]] Result<void> send(OutgoingPacket&& packet);
  /// Queues a packet without sending: for LinkOwner::refill, and for packets that a flush()
  /// follows. A short packet is copied into a batch, which leaves in one piece. Its operation is
  /// told at once, since the user's memory is free.
  void enqueue(OutgoingPacket&& packet);
  /// Queues a whole short packet, header and payload, that arrived on `from` to be relayed. Returns
  /// false if it would wait for credit; nothing was done then.
  [[nodiscard]] bool enqueue_relayed(std::span<const std::byte> packet, Link& from,
                                     bool to_be_relayed);
  /// Hands a whole short packet of this process to the channel, and queues the bytes that the
  /// channel does not take. Requires output_empty(). A packet that is to be relayed must have
  /// credit.
  [[nodiscard]] Result<void> send_alone(std::span<const std::byte> packet, bool to_be_relayed);
  /// Returns room for a short packet of this process, header and payload. The caller must write it
  /// before it calls any other function of the link; the packet leaves with the next flush(). A
  /// packet that is to be relayed must have credit.
  [[nodiscard]] std::byte* append(std::size_t payload, bool to_be_relayed);
  /// Returns the raw header of the packet that has begun. Valid in packet_begins() only.
  [[nodiscard]] std::span<const std::byte, kPacketHeaderSize> raw_header() const {
    return std::span(staging_)
        .subspan(staged_begin_ - kPacketHeaderSize)
        .first<kPacketHeaderSize>();
  }
  /// Returns the packet that has begun, if it is a short one that has arrived whole; empty
  /// otherwise. Valid in packet_begins() only.
  [[nodiscard]] std::span<const std::byte> whole_packet() const {
    const std::size_t payload = incoming_.header.payload_size();
    if (payload > kJoinedSize || payload > staged_end_ - staged_begin_) return {};
    return std::span(staging_).subspan(staged_begin_ - kPacketHeaderSize,
                                       kPacketHeaderSize + payload);
  }
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
  [[nodiscard]] Result<void> send_in_company(OutgoingPacket&& packet);
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
  /// Returns true if the only output is a packet from send_in_company().
  [[nodiscard]] bool awaits_company() const { return awaits_company_; }
  /// Drops all output; returns the operations that waited for it.
  [[nodiscard]] std::vector<SendOperation*> drop_output();
  /// Like drop_output(), but keeps ABORT packets, which tell the peer why the job ends, and the
  /// packet that is partly sent.
  [[nodiscard]] std::vector<SendOperation*> drop_output_but_aborts();
  /// Sends what the channel takes. Returns the number of packets that left.
  [[nodiscard]] Result<std::size_t> flush();
  /// Reads and handles the input; returns the number of reads and packets, 0 if there was none.
  [[nodiscard]] Result<std::size_t> receive();

  [[nodiscard]] bool output_empty() const { return queue_.empty() && batch_.payload.empty(); }
  [[nodiscard]] Channel& channel() const { return *channel_; }
  [[nodiscard]] bool announces_input() const { return announces_input_; }
  [[nodiscard]] Incoming& incoming() { return incoming_; }

  std::int32_t remote_host = -1;  ///< host link: the peer host's number
  WorldRank local_proc = -1;      ///< local link: the peer's world rank
  /// Identifies its descriptor in the poller: index among its owner's links.
  std::uint64_t token = 0;
  bool announced = false;  ///< its descriptor has been reported ready
  LinkState state = LinkState::kOpen;
  bool peer_finished = false;  ///< the peer's FINI has come
  bool input_ended = false;    ///< nothing more can be read
  bool in_batching = false;    ///< the owner will flush it
  /// The channel is full and will announce room; it is not called before that.
  bool wants_output = false;
  /// Long messages with packets left to send; the first one has its turn.
  std::deque<SendOperation*> streams;
  /// Streams that wait until the next process has relayed enough.
  std::deque<SendOperation*> awaiting_credit;
  /// Both processes run this library, and return credit for what they have relayed.
  bool gives_credit = false;
  RelayCredit credit;             ///< credit for what the next process has to relay
  RelayDebt debt;                 ///< credit owed for what arrived here to be relayed
  std::uint64_t latest_rest = 0;  ///< request id of the receive for the latest packet of a rest
  Route latest_route;  ///< route of the latest packet that arrived for a process of the job
  Traffic sent;        ///< sent by this process
  Traffic passed_on;   ///< arrived on other links
  Traffic received;    ///< for this process, or to be relayed
  Traffic copied;      ///< payloads, and their bytes, that were copied in this process's memory
  std::uint64_t send_calls = 0;
  std::uint64_t receive_calls = 0;

 private:
  static constexpr std::size_t kStagingSize = 32768;
  /// Bounds on the packets of long messages that one call hands to the channel. The larger one
  /// applies while the channel takes all of them, since long calls are cheaper for TCP. The smaller
  /// one applies when it does not, since later packets wait behind them.
  static constexpr std::size_t kFewestAtOnce = 16;
  static constexpr std::size_t kMostAtOnce = 64;
  static constexpr std::size_t kMaxPieces = 2 * kMostAtOnce;
  /// After a payload that is larger than this, only a header is read first, so that the next
  /// payload can be read directly to its place.
  static constexpr std::size_t kCopiedSize = 8192;

  [[nodiscard]] Result<std::size_t> send_now(const OutgoingPacket& packet);
  [[nodiscard]] Result<std::size_t> send_piece(std::span<const std::byte> bytes);
  [[nodiscard]] Result<std::size_t> read_some();
  [[nodiscard]] Result<std::size_t> handle_staged();
  [[nodiscard]] Result<void> begin_packet();
  [[nodiscard]] Result<void> begin_packet_ahead();
  void clear_staging();
  void place(std::span<const std::byte> bytes);
  std::size_t gather_pieces(std::array<iovec, kMaxPieces>& pieces) const;
  std::size_t drop_sent(std::size_t bytes);

  LinkOwner& owner_;
  std::unique_ptr<Channel> channel_;
  bool announces_input_;  ///< what the channel returned; read at each poll
  BufferPool& buffers_;
  std::uint32_t max_payload_;

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
  void refill();

  PacketQueue<OutgoingPacket> queue_;
  OutgoingPacket batch_{};            ///< behind the queue: short packets that leave in one piece
  PacketQueue<OutgoingPacket> held_;  ///< to be relayed, but without credit yet
  std::size_t batched_ = 0;
  bool awaits_company_ = false;
  std::size_t at_once_ = kFewestAtOnce;
  std::size_t sent_of_first_ = 0;  ///< bytes of the first queued packet already sent

  std::vector<std::byte> staging_;
  std::size_t staged_begin_ = 0;
  std::size_t staged_end_ = 0;
  std::size_t wanted_ = 0;  ///< bytes that the last read asked for
  /// The bytes that the last read placed where the payload behind the first staged header is
  /// expected.
  std::span<std::byte> ahead_;
  Incoming incoming_;
  bool in_payload_ = false;
  std::size_t payload_left_ = 0;
  std::size_t last_payload_ = 0;
};

}  // namespace impishim::wire
