// SPDX-License-Identifier: Apache-2.0
/// Packets to operations: the message protocols of IMPI 3.7, destination side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/message/early_message.hpp"
#include "wire/message/match_queue.hpp"
#include "wire/message/operation.hpp"
#include "wire/packet/packet.hpp"
#include "wire/path/arrival_count.hpp"
#include "wire/path/early_messages.hpp"
#include "wire/path/send_path.hpp"
#include "wire/path/unanswered_message.hpp"
#include "wire/peer/engine_settings.hpp"
#include "wire/peer/engine_state.hpp"
#include "wire/peer/link.hpp"
#include "wire/peer/peer_table.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {

/// The receives of this process, from their start to their completion, and the messages that wait
/// for one. All functions run with the engine's lock held.
class ReceivePath {
 public:
  /// The parts of the engine that a receive path uses.
  struct Parts {
    const EngineSettings& settings;
    EngineState& state;
    SharedFlags& flags;
    const EngineFailure& failure;
    PeerTable& peers;
    SendPath& send_path;
    FailureHandler& failures;
  };
  explicit ReceivePath(const Parts& parts)
      : parts_(parts), early_(parts.settings.relay.early_message_limit) {}

  void start(ReceiveOperation& operation);
  /// Delivers to a receive a message that take() returned.
  void start_matched(ReceiveOperation& operation, std::list<Message>&& message);
  /// Cancels a receive that has not matched.
  void cancel(ReceiveOperation& operation);
  /// Ends a contest: Engine::settle().
  void settle(ReceiveOperation& operation, bool native_won);
  /// Takes a message out of the unexpected ones, for MPI_Mprobe. The list has one message or none.
  [[nodiscard]] std::list<Message> take(ContextId context, std::int32_t source, std::int32_t tag);
  /// Forgets the unmatched messages of a freed context.
  void forget_context(ContextId context);

  /// Begins a packet of a message: checks its header, and decides where its payload goes.
  [[nodiscard]] Result<void> packet_begins(Link& link);
  /// Ends such a packet, whose payload is complete.
  [[nodiscard]] Result<void> packet_ends(Link& link);
  /// Answers a CANCEL, and forgets the message if no receive has matched it.
  void answer_cancel(const PacketHeader& header, WorldRank source);
  /// Counts a control packet that has arrived. Returns kProtocol if its sender had to wait.
  [[nodiscard]] Result<void> count_control(const PacketHeader& header, Peer& from);

  /// Counts all unexpected messages as received. A wait that no other event ends may need the
  /// messages that flow control holds back behind them.
  void take_unexpected();
  /// Starts relief: Engine::relieve(). The messages that unexpected ones hold back may be what the
  /// program's thread finally waits for.
  void relieve();
  /// Returns the first message that contests a receive, or waits behind such a message, and whose
  /// sender waits for the match.
  [[nodiscard]] std::optional<UnansweredMessage> unanswered();

  /// Completes every receive with the error.
  void fail(const Error& error);
  /// Completes every receive of a message that a lost client has not sent whole with the client's
  /// error. Forgets such messages. Messages that have arrived whole can still be received.
  void lose(std::int32_t client);
  /// Closes sources of a context, whose processes are lost: completes the receives that wait for
  /// them with the error, as MatchQueue::close() says. Later ones complete at once.
  void close(ContextId context, const ClosedSources& sources);

  [[nodiscard]] MatchQueue& queue() { return queue_; }
  [[nodiscard]] ArrivalCount& arrivals() { return arrivals_; }
  /// Returns the number of receives that await the rest of a long message.
  [[nodiscard]] std::size_t long_receives() const { return receives_.size(); }

 private:
  /// The part of a message's envelope that a receive takes.
  struct Accepted {
    std::int32_t source_rank;
    std::int32_t tag;
    std::uint64_t bytes;
  };
  [[nodiscard]] static std::int32_t source_rank(const Link& link);
  [[nodiscard]] Result<void> message_begins(Link& link);
  [[nodiscard]] Result<void> rest_begins(Link& link);
  [[nodiscard]] std::span<std::byte> next_area(const ReceiveOperation& operation,
                                               std::size_t size) const;
  [[nodiscard]] Message message_of(const Link& link) const;
  [[nodiscard]] std::uint64_t native_estimate(const PacketHeader& header, WorldRank source) const;
  void accept(ReceiveOperation& operation, WorldRank sender, const Accepted& message);
  [[nodiscard]] bool receive_whole(Link& link);
  void prepare_area(Link& link, ReceiveOperation& operation, std::size_t size);
  void finish_payload(Link& link, ReceiveOperation& operation, std::size_t size);
  void rest_ends(Link& link, ReceiveOperation& operation);
  void answer_match(ReceiveOperation& operation, WorldRank source, std::uint64_t sender_request);
  void complete(ReceiveOperation& operation, std::uint64_t native_bytes);
  void complete_with(ReceiveOperation& operation, const Error& error);
  void store_message(Link& link);
  void deliver(ReceiveOperation& operation, std::list<Message>&& message);
  void count_received(WorldRank source, std::uint32_t payload);
  void send_protocol_ack(WorldRank source);
  [[nodiscard]] Error sent_too_many() const;

  // receive_loss.cpp
  [[nodiscard]] std::int32_t client_of(WorldRank rank) const {
    return parts_.settings.job.proc(rank).client;
  }
  [[nodiscard]] bool is_cut_off(const Message& message) const;
  void end_closed(ReceiveOperation& operation, const Error& error);
  void drop_arrivals_from(std::int32_t client, std::set<ReceiveOperation*>& ended);
  void end_early_from(std::int32_t client);
  void forget_messages_from(std::int32_t client);

  // early_delivery.cpp
  void accept_early();
  void begin_early(Message& message);
  void early_arrived(EarlyMessage& message);
  void match_early(EarlyMessage& message, ReceiveOperation& operation);
  void hand_over(EarlyMessage& message, ReceiveOperation& operation);
  void drop_early(EarlyMessage& message);

  Parts parts_;
  MatchQueue queue_;
  /// Receives that await the rest of a long message.
  std::unordered_map<std::uint64_t, ReceiveOperation*> receives_;
  EarlyMessages early_;
  ArrivalCount arrivals_;
  std::uint64_t starved_at_ns_ = 0;
};

}  // namespace impishim::wire
