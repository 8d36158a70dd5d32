// SPDX-License-Identifier: Apache-2.0
/// The implementation of the Engine: one lock, the links, the peers' flow control, the match queue.
///
/// The sources are split by direction. sending.cpp turns operations into packets, delivery.cpp
/// turns packets into operations, and relaying.cpp passes packets on. control_packets.cpp handles
/// acknowledgements, and checks who may send what over which link. engine.cpp contains the public
/// functions and polling, cancelling.cpp cancelled sends, closing.cpp FINI, abort and failure.
///
/// `mutex` protects everything but the atomics. Functions whose names end in _locked, and all
/// functions of OutputOwner, run with it held.
#pragma once

#include <atomic>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "wire/base/mutex.hpp"
#include "wire/channel/poller.hpp"
#include "wire/engine/early_message.hpp"
#include "wire/engine/engine.hpp"
#include "wire/engine/flow_control.hpp"
#include "wire/engine/link.hpp"
#include "wire/engine/match_queue.hpp"
#include "wire/link/buffer_pool.hpp"
#include "wire/topology/route.hpp"

namespace impishim::wire {

/// A message that the application owns, between MPI_Mprobe and MPI_Mrecv.
class MatchedMessage {
 public:
  explicit MatchedMessage(std::list<Message>&& message) : message_(std::move(message)) {}
  [[nodiscard]] std::list<Message> take() { return std::move(message_); }

 private:
  std::list<Message> message_;
};

/// The state that this process keeps for another process of the job that it talks to.
struct Peer {
  Peer(WorldRank rank_, const FlowMarks& marks_) : rank(rank_), marks(marks_) {}

  WorldRank rank;
  Link* link = nullptr;  ///< next hop
  bool relayed = false;  ///< the next process on the route passes packets on
  Format format = Format::kNative;
  FlowMarks marks;
  RawHeader header;  ///< header of packets to it, with the fields that never change
  SendCredit send_credit;
  ReceiveCredit receive_credit;
  /// Messages whose first packet, or whose CANCEL, waits for credit, in order.
  PacketQueue<SendOperation*> held;
  std::deque<SendOperation*> stalled;  ///< long messages whose next packet waits for credit
};

class Engine::Impl final : public OutputOwner {
 public:
  /// `batches_wait` is true while messages of this process wait in `batching`.
  Impl(EngineOptions options, std::atomic<bool>& batches_wait);
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() = default;

  // sending.cpp
  void start_send_locked(SendOperation& operation) IMPISHIM_REQUIRES(mutex);
  [[nodiscard]] bool send_short_locked(const ShortMessage& message) IMPISHIM_REQUIRES(mutex);
  void cancel_send_locked(SendOperation& operation) IMPISHIM_REQUIRES(mutex);  // cancelling.cpp
  void packet_left(SendOperation& operation) override IMPISHIM_REQUIRES(mutex);
  [[nodiscard]] bool refill(Link& link) override IMPISHIM_REQUIRES(mutex);

  // delivery.cpp
  /// Reads and handles the input of a link. Returns the number of reads and packets.
  [[nodiscard]] Result<std::size_t> receive_locked(Link& link) IMPISHIM_REQUIRES(mutex);
  void start_receive_locked(ReceiveOperation& operation) IMPISHIM_REQUIRES(mutex);
  void deliver_locked(ReceiveOperation& operation, std::list<Message>&& message)
      IMPISHIM_REQUIRES(mutex);
  void deliver_all_locked(std::vector<Match>&& matches) IMPISHIM_REQUIRES(mutex);
  void count_received_locked(WorldRank source, std::uint32_t payload) IMPISHIM_REQUIRES(mutex);
  void send_protocol_ack_locked(WorldRank source) IMPISHIM_REQUIRES(mutex);

  // relief.cpp
  void relieve_locked() IMPISHIM_REQUIRES(mutex);
  void accept_early_locked() IMPISHIM_REQUIRES(mutex);
  void begin_early_locked(Message& message) IMPISHIM_REQUIRES(mutex);
  void early_arrived_locked(EarlyMessage& message) IMPISHIM_REQUIRES(mutex);
  void match_early_locked(EarlyMessage& message, ReceiveOperation& operation)
      IMPISHIM_REQUIRES(mutex);
  void hand_over_locked(EarlyMessage& message, ReceiveOperation& operation)
      IMPISHIM_REQUIRES(mutex);
  void drop_early_locked(EarlyMessage& message) IMPISHIM_REQUIRES(mutex);
  void forget_early_locked(EarlyMessage& message) IMPISHIM_REQUIRES(mutex);

  // closing.cpp
  void close_locked() IMPISHIM_REQUIRES(mutex);
  void advance_closing_locked() IMPISHIM_REQUIRES(mutex);
  [[nodiscard]] bool closed_locked() const IMPISHIM_REQUIRES(mutex);
  void announce_abort_locked(std::int32_t exit_code, const std::string& text)
      IMPISHIM_REQUIRES(mutex);
  [[nodiscard]] std::size_t flush_after_failure_locked() IMPISHIM_REQUIRES(mutex);
  void link_ended_locked(Link& link, const Error& error) IMPISHIM_REQUIRES(mutex);
  [[nodiscard]] bool awaited_locked(const Link& link) IMPISHIM_REQUIRES(mutex);
  [[nodiscard]] std::string offender_of(Link& link) const;
  void fail_locked(const Error& error) IMPISHIM_REQUIRES(mutex);
  void abort_arrived_locked(Link& link) IMPISHIM_REQUIRES(mutex);

  // state_report.cpp
  void add_traffic_locked(EngineCounters& counters) const IMPISHIM_REQUIRES(mutex);
  [[nodiscard]] std::string report_locked() IMPISHIM_REQUIRES(mutex);
  void report_if_asked_locked() IMPISHIM_REQUIRES(mutex);

  // engine.cpp
  std::size_t poll_locked(bool application_waits) IMPISHIM_REQUIRES(mutex);
  std::size_t poll_link_locked(Link& link) IMPISHIM_REQUIRES(mutex);
  /// Counts a poll of the application without the cost of an atomic increment, since every poll of
  /// every wait calls it.
  void count_application_poll_locked() IMPISHIM_REQUIRES(mutex) {
    application_polls.store(application_polls.load(std::memory_order_relaxed) + 1,
                            std::memory_order_relaxed);
  }
  void watch_output_locked(Link& link) IMPISHIM_REQUIRES(mutex);
  void watch_links_locked() IMPISHIM_REQUIRES(mutex);
  void stop_watching_locked(Link& link) IMPISHIM_REQUIRES(mutex);
  void find_announced_locked() IMPISHIM_REQUIRES(mutex);
  [[nodiscard]] bool may_have_input(const Link& link) const {
    return !asks_together || link.announced || !link.announces_input;
  }
  /// Returns true if this poll may skip the link. If links of this host had input, forwarding that
  /// input comes first. Asking the kernel for input from other hosts takes longer than all of that,
  /// and waits until the next poll.
  [[nodiscard]] bool may_wait(const Link& link) const {
    return link.remote_host >= 0 && !asks_together && link.output.empty() &&
           link.output.streams.empty();
  }
  void take_unexpected_locked() IMPISHIM_REQUIRES(mutex);
  [[nodiscard]] Peer& peer(WorldRank rank) IMPISHIM_REQUIRES(mutex) {
    Peer* known = peers[static_cast<std::size_t>(rank)].get();
    return known != nullptr ? *known : make_peer(rank);
  }
  [[nodiscard]] Peer& make_peer(WorldRank rank) IMPISHIM_REQUIRES(mutex);
  [[nodiscard]] FlowMarks marks_towards(WorldRank rank) const;
  [[nodiscard]] Link* link_towards(WorldRank destination);
  /// Returns true if the process runs this library, too.
  [[nodiscard]] bool is_ours(WorldRank rank) const {
    return job.client(job.proc(rank).client).impishim;
  }

  // relaying.cpp
  void passed_on(Link& from, std::size_t bytes) override IMPISHIM_REQUIRES(mutex);
  [[nodiscard]] bool relayed_beyond(const Link& link, WorldRank destination) const;
  void return_credits_locked() IMPISHIM_REQUIRES(mutex);
  void flush_batches_locked() IMPISHIM_REQUIRES(mutex);
  void batch_locked(Link& link, OutgoingPacket&& packet, std::uint64_t target)
      IMPISHIM_REQUIRES(mutex);
  void flush_if_full_locked(Link& link, std::uint64_t target) IMPISHIM_REQUIRES(mutex);
  void count_relayed_locked(std::size_t bytes) IMPISHIM_REQUIRES(mutex);

  std::atomic<bool>& batches_wait;
  JobMap job;
  WorldRank here;
  ProcId my_id;
  std::vector<Format> format_of_client;
  std::uint32_t datalen;

  Mutex mutex;
  RelayOptions relay;
  BufferPool buffers;
  std::vector<std::unique_ptr<Link>> links IMPISHIM_GUARDED_BY(mutex);
  /// Largest number of sockets that are polled by reading each of them. For more sockets, one query
  /// to the kernel costs less than one read each.
  static constexpr std::ptrdiff_t kAskedOneByOne = 2;
  /// The links are always watched, and their descriptors tell which ones to read.
  bool asks_together = false;
  std::unordered_map<std::int32_t, Link*> host_links;  ///< by remote host
  std::unordered_map<WorldRank, Link*> local_links;    ///< by world rank
  std::vector<std::unique_ptr<Peer>> peers
      IMPISHIM_GUARDED_BY(mutex);  ///< by world rank, made when needed
  MatchQueue queue IMPISHIM_GUARDED_BY(mutex);
  /// Links whose peers must be told what has been relayed.
  std::vector<Link*> owing IMPISHIM_GUARDED_BY(mutex);
  /// Reset at the next poll, since sockets are never skipped twice in a row.
  bool skipped_hosts IMPISHIM_GUARDED_BY(mutex) = false;
  /// poll_locked() is running, and does what is due at its end.
  bool polling IMPISHIM_GUARDED_BY(mutex) = false;
  std::vector<Link*> batching IMPISHIM_GUARDED_BY(mutex);  ///< links with packets that need a flush
  /// Number of messages since the last poll that are sent at once, without batching: as many as one
  /// step of most halo exchanges sends.
  static constexpr std::uint32_t kSentAtOnce = 4;
  /// Messages that this process has begun since the last poll.
  std::uint32_t burst IMPISHIM_GUARDED_BY(mutex) = 0;
  /// Number of messages of a burst that are sent at once.
  std::uint32_t burst_limit IMPISHIM_GUARDED_BY(mutex) = kSentAtOnce;
  std::set<ContextId> watched IMPISHIM_GUARDED_BY(mutex);
  /// Number of unmatched messages that arrived in watched contexts.
  std::uint64_t arrivals IMPISHIM_GUARDED_BY(mutex) = 0;
  Condition arrived;
  Poller poller;
  int sleepers IMPISHIM_GUARDED_BY(mutex) = 0;
  std::atomic<bool> watching =
      false;  ///< the links' descriptors are in `poller`; changed under `mutex`

  std::uint64_t next_request_id IMPISHIM_GUARDED_BY(mutex) = 1;
  /// Sends that await a SYNCACK, or an answer to CANCEL.
  std::unordered_map<std::uint64_t, SendOperation*> sends IMPISHIM_GUARDED_BY(mutex);
  /// Receives that await the rest of a long message.
  std::unordered_map<std::uint64_t, ReceiveOperation*> receives IMPISHIM_GUARDED_BY(mutex);
  /// The destination of each CANCEL that is not answered yet, by the message's request id. The
  /// operation may be complete.
  std::unordered_map<std::uint64_t, WorldRank> questions IMPISHIM_GUARDED_BY(mutex);
  std::size_t pending_sends IMPISHIM_GUARDED_BY(mutex) = 0;  ///< started and not complete

  std::unordered_map<const EarlyMessage*, std::unique_ptr<EarlyMessage>> early
      IMPISHIM_GUARDED_BY(mutex);
  std::uint64_t early_limit;
  std::uint64_t early_bytes IMPISHIM_GUARDED_BY(mutex) = 0;  ///< total of all early messages

  bool closing IMPISHIM_GUARDED_BY(mutex) = false;
  bool fini_sent IMPISHIM_GUARDED_BY(mutex) = false;
  EngineCounters counters IMPISHIM_GUARDED_BY(mutex);
  std::uint64_t starved_at_ns IMPISHIM_GUARDED_BY(mutex) = 0;

  std::atomic<std::uint64_t> application_polls{0};  ///< changed under `mutex`
  std::atomic<std::size_t> contested{0};
  std::atomic<bool> relieving{false};
  std::atomic<bool> failed{false};
  std::atomic<bool> report_asked{false};
  std::optional<Error> failure;            ///< written once, before `failed`
  std::optional<std::int32_t> abort_code;  ///< likewise

 private:
  // sending.cpp
  [[nodiscard]] static MessageFields fields_of(const SendOperation& operation, PacketType type,
                                               std::size_t payload);
  void send_first_packet_locked(Peer& peer, SendOperation& operation) IMPISHIM_REQUIRES(mutex);
  [[nodiscard]] bool make_first_packet_locked(Peer& peer, SendOperation& operation,
                                              OutgoingPacket& packet) IMPISHIM_REQUIRES(mutex);
  [[nodiscard]] bool leaves_in_one_piece(const Peer& peer, std::uint64_t size) const;
  [[nodiscard]] bool send_in_one_piece_locked(Peer& peer, SendOperation& operation)
      IMPISHIM_REQUIRES(mutex);
  void send_one_piece_locked(Peer& peer, const MessageFields& fields,
                             std::span<const std::byte> bytes) IMPISHIM_REQUIRES(mutex);
  void send_alone_locked(Peer& peer, const MessageFields& fields, std::span<const std::byte> bytes)
      IMPISHIM_REQUIRES(mutex);
  void count_first_packet_locked(Peer& peer, ContextId context, std::size_t payload)
      IMPISHIM_REQUIRES(mutex);
  [[nodiscard]] bool should_coalesce(std::size_t payload) IMPISHIM_REQUIRES(mutex);
  void start_batch_locked(Link& link) IMPISHIM_REQUIRES(mutex);
  void send_control_locked(WorldRank destination, const MessageFields& fields)
      IMPISHIM_REQUIRES(mutex);
  void count_copy(std::size_t bytes) IMPISHIM_REQUIRES(mutex);
  void complete_send_locked(SendOperation& operation) IMPISHIM_REQUIRES(mutex);
  void complete_send_locked(SendOperation& operation, const Error& error) IMPISHIM_REQUIRES(mutex);
  [[nodiscard]] Result<void> next_payload(SendOperation& operation, std::size_t size,
                                          OutgoingPacket& packet) IMPISHIM_REQUIRES(mutex);
  void acknowledged_locked(Peer& peer) IMPISHIM_REQUIRES(mutex);

  // control_packets.cpp
  [[nodiscard]] static bool concerns_link(PacketType type) {
    return type == PacketType::kFini || type == PacketType::kRelayAck || type == PacketType::kAbort;
  }
  [[nodiscard]] Result<void> link_packet_begins(Link& link) IMPISHIM_REQUIRES(mutex);
  [[nodiscard]] bool speaks_for(const Link& link, WorldRank source) const;
  [[nodiscard]] bool relays_from(const Link& link, const PacketRoute& route) const;
  [[nodiscard]] static bool comes_too_late(Link& link);
  [[nodiscard]] Result<void> control_ends(Link& link) IMPISHIM_REQUIRES(mutex);
  [[nodiscard]] Result<void> link_packet_ends(Link& link) IMPISHIM_REQUIRES(mutex);
  [[nodiscard]] std::uint32_t unsent_cost(const Peer& to) const IMPISHIM_REQUIRES(mutex);
  [[nodiscard]] Result<void> protocol_acknowledged_locked(Peer& peer) IMPISHIM_REQUIRES(mutex);
  [[nodiscard]] Result<void> sync_acknowledged_locked(const PacketHeader& header, WorldRank source)
      IMPISHIM_REQUIRES(mutex);

  // cancelling.cpp
  void ask_to_cancel_locked(SendOperation& operation) IMPISHIM_REQUIRES(mutex);
  void forget_held_locked(SendOperation& operation) IMPISHIM_REQUIRES(mutex);
  void answer_cancel_locked(const PacketHeader& header, WorldRank source) IMPISHIM_REQUIRES(mutex);
  [[nodiscard]] Result<void> cancel_answered_locked(const PacketHeader& header, WorldRank source)
      IMPISHIM_REQUIRES(mutex);

  // delivery.cpp
  [[nodiscard]] Result<std::size_t> handle_input_locked(Link& link) IMPISHIM_REQUIRES(mutex);
  [[nodiscard]] Result<void> packet_begins_locked(Link& link) IMPISHIM_REQUIRES(mutex);
  [[nodiscard]] Result<void> packet_ends_locked(Link& link) IMPISHIM_REQUIRES(mutex);
  [[nodiscard]] Result<void> message_begins(Link& link) IMPISHIM_REQUIRES(mutex);
  [[nodiscard]] Result<void> rest_begins(Link& link) IMPISHIM_REQUIRES(mutex);
  [[nodiscard]] std::span<std::byte> next_area(const ReceiveOperation& operation,
                                               std::size_t size) const;
  /// The part of a message's envelope that a receive takes.
  struct Accepted {
    std::int32_t source_rank;
    std::int32_t tag;
    std::uint64_t bytes;
  };
  [[nodiscard]] Result<void> find_route_locked(Link& link, const PacketHeader& header)
      IMPISHIM_REQUIRES(mutex);
  void accept_message_locked(ReceiveOperation& operation, WorldRank sender, const Accepted& message)
      IMPISHIM_REQUIRES(mutex);
  [[nodiscard]] bool receive_whole_locked(Link& link) IMPISHIM_REQUIRES(mutex);
  void prepare_area(Link& link, ReceiveOperation& operation, std::size_t size);
  void finish_payload_locked(Link& link, ReceiveOperation& operation, std::size_t size)
      IMPISHIM_REQUIRES(mutex);
  void answer_match_locked(ReceiveOperation& operation, WorldRank source,
                           std::uint64_t sender_request) IMPISHIM_REQUIRES(mutex);
  void complete_receive_locked(ReceiveOperation& operation, std::uint64_t native_bytes)
      IMPISHIM_REQUIRES(mutex);
  void store_message_locked(Link& link) IMPISHIM_REQUIRES(mutex);
  [[nodiscard]] bool relay_whole_locked(Link& link) IMPISHIM_REQUIRES(mutex);  // relaying.cpp
  void relay_locked(Link& link) IMPISHIM_REQUIRES(mutex);                      // relaying.cpp
  [[nodiscard]] Result<void> credit_returned_locked(Link& link)
      IMPISHIM_REQUIRES(mutex);  // relaying.cpp
  [[nodiscard]] Error sent_too_many() const;
  [[nodiscard]] Message message_of(const Link& link) const;
  [[nodiscard]] std::uint64_t native_estimate(const PacketHeader& header, WorldRank source) const;
  friend class Engine;
};

}  // namespace impishim::wire
