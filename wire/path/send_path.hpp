// SPDX-License-Identifier: Apache-2.0
/// Operations to packets: the message protocols of IMPI 3.7, source side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <unordered_map>

#include "wire/base/result.hpp"
#include "wire/link/link_output.hpp"
#include "wire/message/operation.hpp"
#include "wire/packet/packet.hpp"
#include "wire/peer/engine_settings.hpp"
#include "wire/peer/engine_state.hpp"
#include "wire/peer/link.hpp"
#include "wire/peer/link_sender.hpp"
#include "wire/peer/peer_table.hpp"
#include "wire/peer/readiness.hpp"
#include "wire/topology/job_map.hpp"
#include "wire/trace/trace_event.hpp"

namespace impishim::wire {

/// The sends of this process, from their start to their completion, and the control packets that it
/// sends. All functions run with the engine's lock held.
class SendPath {
 public:
  /// The parts of the engine that a send path uses.
  struct Parts {
    const EngineSettings& settings;
    EngineState& state;
    const EngineFailure& failure;
    PeerTable& peers;
    Readiness& readiness;
    LinkSender& sender;
    FailureHandler& failures;
  };
  explicit SendPath(const Parts& parts) : parts_(parts) {}

  void start(SendOperation& operation);
  /// Sends a short message without an operation: Engine::send_short().
  [[nodiscard]] bool send_short(const ShortMessage& message);
  /// Sends a packet without a payload.
  void send_control(WorldRank destination, const MessageFields& fields);

  /// Counts a packet of an operation that has left. May complete the operation.
  void packet_left(SendOperation& operation);
  /// Queues the next packet of the first of the link's streams that may send. Returns false if
  /// there is none.
  [[nodiscard]] bool refill(Link& link);

  /// Handles a PROTOACK. Returns kProtocol if the peer acknowledges what it cannot have received.
  [[nodiscard]] Result<void> protocol_acknowledged(Peer& from);
  /// Handles a SYNCACK: the first packet of a message has matched. The packet may still be leaving,
  /// since a receiver need not wait for all of it.
  [[nodiscard]] Result<void> sync_acknowledged(const PacketHeader& header, WorldRank source);

  /// Asks the peer to cancel a send (IMPI 3.7.4).
  void cancel(SendOperation& operation);
  /// Handles an answer to CANCEL. Accepts it only from the process that was asked, and only once.
  /// The CANCEL travels behind the message, so the message has left when the answer arrives.
  [[nodiscard]] Result<void> cancel_answered(const PacketHeader& header, WorldRank source);

  /// A poll begins: ends the burst of messages since the last one.
  void poll_begins();
  /// Returns the number of sends that are started and not complete.
  [[nodiscard]] std::size_t pending() const { return pending_; }
  /// Returns the number of sends that await a match, or an answer to CANCEL.
  [[nodiscard]] std::size_t awaiting_answer() const { return sends_.size(); }
  /// Returns true if a send still needs the peer of `link`.
  [[nodiscard]] bool needs(const Link& link);
  /// Completes every send with the error. The links' outputs are dropped, but for announcements of
  /// the end.
  void fail(const Error& error);
  /// Completes every send to a lost client with its error, now or when the rest of a packet of it
  /// has left. Later sends to it end with that error. What waits on links to the client is dropped.
  void lose(std::int32_t client);

 private:
  /// Number of messages since the last poll that are sent at once, without batching: as many as one
  /// step of most halo exchanges sends.
  static constexpr std::uint32_t kSentAtOnce = 4;

  [[nodiscard]] static MessageFields fields_of(const SendOperation& operation, PacketType type,
                                               std::size_t payload);
  void send_first_packet(Peer& to, SendOperation& operation);
  [[nodiscard]] bool make_first_packet(Peer& to, SendOperation& operation, OutgoingPacket& packet);
  [[nodiscard]] bool leaves_in_one_piece(const Peer& to, std::uint64_t size) const;
  [[nodiscard]] bool send_in_one_piece(Peer& to, SendOperation& operation);
  void send_one_piece(Peer& to, const MessageFields& fields, std::span<const std::byte> bytes,
                      bool may_wait = false);
  void send_alone(Peer& to, const MessageFields& fields, std::span<const std::byte> bytes);
  void count_first_packet(Peer& to, const MessageFields& fields);
  void trace_packet(const Peer& to, const MessageFields& fields, std::uint64_t flow);
  void count_answer(const SendOperation& operation);
  void trace_stall(TraceKind kind, const Peer& to);
  [[nodiscard]] bool should_coalesce(std::size_t payload);
  [[nodiscard]] bool may_stream(Link& link, SendOperation& operation, Peer& to);
  [[nodiscard]] Result<void> next_payload(SendOperation& operation, std::size_t size,
                                          OutgoingPacket& packet);
  void complete(SendOperation& operation);
  void complete(SendOperation& operation, const Error& error);
  void drop_output_to(std::int32_t client, std::set<SendOperation*>& dropped);
  void forget_sends_to(std::int32_t client, std::set<SendOperation*>& dropped);

  [[nodiscard]] std::uint32_t unsent_cost(const Peer& to) const;
  void acknowledged(Peer& from);
  [[nodiscard]] bool release_held(Peer& to);

  void ask_to_cancel(SendOperation& operation);
  void forget_held(SendOperation& operation);

  Parts parts_;
  /// Sends that await a SYNCACK, or an answer to CANCEL.
  std::unordered_map<std::uint64_t, SendOperation*> sends_;
  /// The destination of each CANCEL that is not answered yet, by the message's request id. The
  /// operation may be complete.
  std::unordered_map<std::uint64_t, WorldRank> questions_;
  std::size_t pending_ = 0;
  std::uint32_t burst_ = 0;  ///< messages that this process has begun since the last poll
  std::uint32_t burst_limit_ = kSentAtOnce;  ///< number of them that are sent at once
};

}  // namespace impishim::wire
