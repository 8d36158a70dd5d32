// SPDX-License-Identifier: Apache-2.0
/// One peer: packets in and out of a channel's byte stream. Knows framing and output order, not
/// what packets mean.
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

/// A packet on its way out, or a batch of short ones. The payload lies in `owned`, or in the user's
/// memory until `operation` is told that it was written.
struct OutgoingPacket {
  RawHeader header;
  bool batch = false;  ///< the payload is whole packets, and there is no header before it
  std::span<const std::byte> payload;
  Buffer owned;
  SendOperation* operation = nullptr;  ///< to be told when the packet has left; may be null
  bool passes_through = false;         ///< it came by another link
  bool to_be_relayed = false;  ///< counts towards the link's credit: the next process passes it on
  Link* relayed_from = nullptr;  ///< the link that it came by, whose debt it is until it has left

  [[nodiscard]] std::span<const std::byte> head() const {
    return std::span(header).first(batch ? 0 : header.size());
  }
  [[nodiscard]] std::size_t size() const { return head().size() + payload.size(); }
};

/// What a link asks of its owner.
class LinkOwner {
 public:
  LinkOwner() = default;
  LinkOwner(const LinkOwner&) = delete;
  LinkOwner& operator=(const LinkOwner&) = delete;

  /// A header has arrived: check it and decide where its payload goes (see Link::Incoming).
  [[nodiscard]] virtual Result<void> packet_begins(Link& link) = 0;
  /// The payload is complete.
  [[nodiscard]] virtual Result<void> packet_ends(Link& link) = 0;
  /// A packet with an operation has been handed to the channel entirely.
  virtual void packet_left(SendOperation& operation) = 0;
  /// A packet that came by `from` to be passed on has been handed to the next channel entirely.
  virtual void passed_on(Link& from, std::size_t bytes) = 0;
  /// The link has room: queue the next packet of the first of its streams that may send. False:
  /// there is none.
  [[nodiscard]] virtual bool refill(Link& link) = 0;

 protected:
  ~LinkOwner() = default;
};

/// Packets, and their bytes with headers.
struct Traffic {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
  void count(std::uint64_t size) {
    ++packets;
    bytes += size;
  }
};

/// How the life of a link goes on: forward only.
enum class LinkState : std::uint8_t {
  kOpen,     ///< traffic both ways
  kClosing,  ///< our FINI is queued or sent: only acknowledgements may follow
  kClosed,   ///< FINI both ways, everything sent; the channel is shut down
};

class Link {
 public:
  /// The packet that is arriving.
  struct Incoming {
    RawHeader raw;  ///< of a packet for another process
    PacketHeader header;
    WorldRank source = -1;      ///< who has sent it, once that is checked
    std::span<std::byte> area;  ///< where the next payload bytes go; what exceeds it is dropped
    std::span<std::byte>
        ahead;     ///< where the next packet's payload goes if it is of the same message; or empty
    Buffer owned;  ///< holds the payload if it is not going to the user's memory
    std::uint32_t counts_as = 0;          ///< payload bytes that flow control takes it for
    ReceiveOperation* receive = nullptr;  ///< whose message it is, if that is known
    bool unpack_at_end = false;           ///< `owned` is to be unpacked for `receive`
    Link* relay_to = nullptr;             ///< the packet is for another process
    bool handled =
        false;  ///< all that is to be done with it has been done, though its payload was not read
  };

  /// Whom packets name, and what follows from it: packets come in rows that name the same two
  /// processes.
  struct Route {
    ProcId source_id;
    ProcId destination_id;
    WorldRank source = -1;
    WorldRank destination = -1;
    Link* relay_to = nullptr;    ///< null: the destination is this process
    bool to_be_relayed = false;  ///< the process at the other end of `relay_to` passes on what is
                                 ///< for the destination
  };

  static constexpr std::size_t kJoinedSize =
      1024;  ///< largest payload that is copied behind its header
  static constexpr std::size_t kBatchCapacity =
      32768;  ///< bytes of short packets that leave in one piece

  Link(LinkOwner& owner, std::unique_ptr<Channel> channel, BufferPool& buffers,
       std::uint32_t max_payload);

  /// Queues a packet, or hands it to the channel at once if nothing is queued. Order is kept, among
  /// packets that are to be relayed and among the others: the first wait for credit.
  [[nodiscard]] Result<void> send(OutgoingPacket&& packet);
  /// Queues a packet without sending: for LinkOwner::refill, and for packets that a flush()
  /// follows. A short one is copied into a batch, which leaves in one piece: its operation is told
  /// at once, since the user's memory is free.
  void enqueue(OutgoingPacket&& packet);
  /// The same for a whole short packet, header and payload, that came by `from` to be passed on.
  /// False: it would wait for credit; nothing has been done.
  [[nodiscard]] bool enqueue_relayed(std::span<const std::byte> packet, Link& from,
                                     bool to_be_relayed);
  /// Hands a whole short packet that this process begins to the channel, while `output_empty()`:
  /// what the channel does not take is queued. One that is to be relayed must have credit.
  [[nodiscard]] Result<void> send_alone(std::span<const std::byte> packet, bool to_be_relayed);
  /// Room for a short packet that this process begins, header and payload, to be written before
  /// anything else is asked of the link; it leaves with the next flush(). One that is to be relayed
  /// must have credit.
  [[nodiscard]] std::byte* append(std::size_t payload, bool to_be_relayed);
  /// The header of the packet that has begun, as it came. Valid in packet_begins() only.
  [[nodiscard]] std::span<const std::byte, kPacketHeaderSize> raw_header() const {
    return std::span(staging_)
        .subspan(staged_begin_ - kPacketHeaderSize)
        .first<kPacketHeaderSize>();
  }
  /// The packet that has begun, if it is a short one that has arrived whole; empty otherwise. Valid
  /// in packet_begins() only.
  [[nodiscard]] std::span<const std::byte> whole_packet() const {
    const std::size_t payload = incoming_.header.payload_size();
    if (payload > kJoinedSize || payload > staged_end_ - staged_begin_) return {};
    return std::span(staging_).subspan(staged_begin_ - kPacketHeaderSize,
                                       kPacketHeaderSize + payload);
  }
  /// Bytes queued by enqueue() since the last flush().
  [[nodiscard]] std::size_t batched() const { return batched_; }
  /// A packet that is to be relayed would wait for credit.
  [[nodiscard]] bool credit_exhausted() const { return !held_.empty() || !credit.may_send(); }
  /// Credit has come: queues what has waited for it. A flush() follows.
  void release_held();
  [[nodiscard]] bool holds() const { return !held_.empty(); }
  /// Packets and batches that wait for room in the channel, and packets that wait for credit.
  [[nodiscard]] std::size_t queued() const {
    return queue_.size() + (batch_.payload.empty() ? 0 : 1);
  }
  [[nodiscard]] std::size_t held() const { return held_.size(); }
  /// Queues a packet that nobody waits for: it leaves with the next one or at the next flush(), at
  /// no cost of its own. A second one takes the first along at once.
  [[nodiscard]] Result<void> send_in_company(OutgoingPacket&& packet);
  /// The header of a packet of `operation` has left whole, and not all of its payload.
  [[nodiscard]] bool has_begun(const SendOperation& operation) const {
    return !queue_.empty() && queue_.begin()->operation == &operation &&
           sent_of_first_ >= kPacketHeaderSize;
  }
  /// All output is one packet that waits for company.
  [[nodiscard]] bool awaits_company() const { return awaits_company_; }
  /// Drops all output; returns the operations that waited for it.
  [[nodiscard]] std::vector<SendOperation*> drop_output();
  /// The same, but what tells the peer why the job ends stays, and the packet that has begun to
  /// leave, lest it be cut.
  [[nodiscard]] std::vector<SendOperation*> drop_output_but_aborts();
  /// Sends what the channel takes. Returns the number of packets that left.
  [[nodiscard]] Result<std::size_t> flush();
  /// Reads and handles what has arrived; returns how much was done (reads and packets), 0 for
  /// nothing.
  [[nodiscard]] Result<std::size_t> receive();

  [[nodiscard]] bool output_empty() const { return queue_.empty() && batch_.payload.empty(); }
  [[nodiscard]] Channel& channel() const { return *channel_; }
  [[nodiscard]] bool announces_input() const { return announces_input_; }
  [[nodiscard]] Incoming& incoming() { return incoming_; }

  std::int32_t remote_host = -1;  ///< host link: the peer host's number
  WorldRank local_proc = -1;      ///< local link: the peer's world rank
  std::uint64_t token =
      0;                   ///< what its descriptor is watched by: its place among its owner's links
  bool announced = false;  ///< its descriptor has told of something
  LinkState state = LinkState::kOpen;
  bool peer_finished = false;  ///< the peer's FINI has come
  bool input_ended = false;    ///< nothing more can be read
  bool in_batching = false;    ///< among those that the owner will flush
  bool wants_output = false;   ///< the channel is full and will announce room: no call before that
  std::deque<SendOperation*>
      streams;  ///< long messages with packets left to send, the first one's turn
  std::deque<SendOperation*>
      awaiting_credit;        ///< those of them that wait until the next process has relayed enough
  bool gives_credit = false;  ///< both ends run this library, and return what they have relayed
  RelayCredit credit;         ///< of what the next process is to pass on
  RelayDebt debt;             ///< of what came by this link to be passed on here
  std::uint64_t latest_rest =
      0;               ///< request id of the receive that the latest packet of a rest was for
  Route latest_route;  ///< of the packet that arrived last for a process of the job
  Traffic sent;        ///< that this process began
  Traffic passed_on;   ///< that came by other links
  Traffic received;    ///< for this process, or to be passed on
  Traffic copied;      ///< payloads, and their bytes, that were copied in this process's memory
  std::uint64_t send_calls = 0;
  std::uint64_t receive_calls = 0;

 private:
  static constexpr std::size_t kStagingSize = 32768;
  /// Packets of long messages that one call hands to the channel: the most while it takes all of
  /// them, since long calls are cheaper for TCP; the fewest when it does not, since what is sent
  /// next waits behind them.
  static constexpr std::size_t kFewestAtOnce = 16;
  static constexpr std::size_t kMostAtOnce = 64;
  static constexpr std::size_t kMaxPieces = 2 * kMostAtOnce;
  /// After a payload above this one alone a header is read first, so that the next payload can go
  /// straight to its place.
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
  bool announces_input_;  ///< what the channel says, asked at each look
  BufferPool& buffers_;
  std::uint32_t max_payload_;

  void count_copy(std::size_t bytes) {
    if (bytes > 0) copied.count(bytes);
  }
  [[nodiscard]] bool hold_without_credit(OutgoingPacket& packet);
  void has_left(OutgoingPacket& packet);
  void queue_up(OutgoingPacket&& packet);
  void add_to_batch(OutgoingPacket&& packet);
  [[nodiscard]] std::byte* extend_batch(std::size_t size, Link* relayed_from);
  void seal_batch();
  /// Of a packet that is the only one, and of which the channel has `taken` bytes.
  [[gnu::cold]] void queue_rest(std::span<const std::byte> packet, std::size_t taken);
  [[nodiscard]] Result<bool> send_batch();
  void refill();

  PacketQueue<OutgoingPacket> queue_;
  OutgoingPacket batch_{};            ///< behind the queue: short packets that leave in one piece
  PacketQueue<OutgoingPacket> held_;  ///< to be relayed, without credit yet
  std::size_t batched_ = 0;
  bool awaits_company_ = false;
  std::size_t at_once_ = kFewestAtOnce;
  std::size_t sent_of_first_ = 0;  ///< bytes of the first queued packet already sent

  std::vector<std::byte> staging_;
  std::size_t staged_begin_ = 0;
  std::size_t staged_end_ = 0;
  std::size_t wanted_ = 0;      ///< bytes that the last read asked for
  std::span<std::byte> ahead_;  ///< what the last read put where the payload behind the first
                                ///< staged header is expected
  Incoming incoming_;
  bool in_payload_ = false;
  std::size_t payload_left_ = 0;
  std::size_t last_payload_ = 0;
};

}  // namespace impishim::wire
