// SPDX-License-Identifier: Apache-2.0
#include "wire/path/send_path.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <utility>

#include "wire/base/assert.hpp"
#include "wire/base/log.hpp"
#include "wire/base/result.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/data/conversion.hpp"
#include "wire/data/type_layout.hpp"
#include "wire/link/inline_payload.hpp"
#include "wire/link/link_output.hpp"
#include "wire/message/flow_control.hpp"
#include "wire/message/operation.hpp"
#include "wire/packet/packet.hpp"
#include "wire/peer/engine_counters.hpp"
#include "wire/peer/link.hpp"
#include "wire/peer/peer_table.hpp"
#include "wire/topology/job_map.hpp"
#include "wire/trace/trace.hpp"
#include "wire/trace/trace_event.hpp"

namespace impishim::wire {
namespace {

/// Returns true if the layout contains types whose values may not fit external32. The values of all
/// other types always fit.
bool may_overflow(const TypeLayout& layout) {
  return std::any_of(layout.blocks().begin(), layout.blocks().end(), [](const Block& block) {
    return block.type == BasicType::kSignedLong || block.type == BasicType::kUnsignedLong ||
           block.type == BasicType::kWideChar;
  });
}

/// Packs the whole buffer once to find errors, since a message that has begun can no longer be
/// withdrawn.
Result<void> check_values(const ConstBuffer& buffer, Format format) {
  PackCursor cursor(buffer, format);
  std::array<std::byte, 4096> scratch;
  while (cursor.position() < cursor.total()) {
    auto packed = cursor.pack(scratch);
    if (!packed) return packed.error();
  }
  return {};
}

/// Writes a message to `place`, which has room for the header and `bytes`.
void write_message(const Peer& to, const MessageFields& fields, std::span<const std::byte> bytes,
                   std::byte* place) {
  write_packet(to.header, bytes, place);
  encode_message_fields(fields, std::span<std::byte, kPacketHeaderSize>(place, kPacketHeaderSize));
}

}  // namespace

void SendPath::start(SendOperation& operation) {
  operation.begin();
  operation.result = Envelope{};
  operation.cancelling_ = false;
  operation.question_held_ = false;
  operation.packets_queued_ = 0;
  operation.peer_request_id_ = 0;
  ++pending_;
  if (parts_.failure.happened()) return complete(operation, *parts_.failure.error());
  Peer& to = parts_.peers.peer(operation.destination);
  operation.cursor_ = PackCursor(operation.buffer, to.format);
  operation.request_id_ = parts_.state.new_request_id();
  if (to.format == Format::kExternal32 && operation.cursor_.total() > parts_.settings.datalen &&
      may_overflow(*operation.buffer.layout)) {
    auto checked = check_values(operation.buffer, to.format);
    if (!checked) return complete(operation, checked.error());
  }
  if (!to.held.empty() || !to.send_credit.may_send(to.marks)) {
    const std::int32_t client = parts_.settings.job.proc(to.rank).client;
    if (parts_.state.lost.contains(client)) [[unlikely]]
      return complete(operation, parts_.state.lost.error(client));
    operation.phase_ = SendOperation::Phase::kHeldByFlowControl;
    to.held.push_back(&operation);
    ++parts_.state.counters.flow_control_stalls;
    trace_stall(TraceKind::kFlowControlStall, to);
    log(LogArea::kEngine, LogLevel::kDebug,
        "a message to rank {} waits for its acknowledgements: {} of {} are ahead of it",
        operation.destination, to.send_credit.outstanding(), to.marks.hiwater());
    return;
  }
  send_first_packet(to, operation);
}

MessageFields SendPath::fields_of(const SendOperation& operation, PacketType type,
                                  std::size_t payload) {
  MessageFields fields;
  fields.type = type;
  fields.len = static_cast<std::uint32_t>(payload);
  fields.srqid = operation.request_id_;
  fields.drqid = operation.peer_request_id_;
  fields.msglen = operation.cursor_.total();
  fields.lsrank = operation.source_rank;
  fields.tag = operation.tag;
  fields.cid = operation.context;
  fields.count = operation.buffer.packed_size(Format::kNative);
  return fields;
}

/// Provides the next `size` bytes: from the user's memory if they can be sent unchanged, packed
/// otherwise.
Result<void> SendPath::next_payload(SendOperation& operation, std::size_t size,
                                    OutgoingPacket& packet) {
  packet.operation = &operation;
  if (size == 0) return {};
  packet.payload = operation.cursor_.borrow(size);
  if (!packet.payload.empty()) return {};
  packet.owned = parts_.state.buffers.take(size);
  auto packed = operation.cursor_.pack(packet.owned.first(size));
  if (!packed) return packed.error();
  packet.payload = packet.owned.first(*packed);
  parts_.state.counters.count_copy(*packed);
  return {};
}

/// Returns false if the values cannot be packed; the operation is then complete with that error.
bool SendPath::make_first_packet(Peer& to, SendOperation& operation, OutgoingPacket& packet) {
  const std::uint64_t total = operation.cursor_.total();
  const std::uint32_t datalen = parts_.settings.datalen;
  const std::size_t size = std::min<std::uint64_t>(total, datalen);
  const bool needs_answer = total > datalen || operation.mode == SendMode::kSynchronous;
  auto filled = next_payload(operation, size, packet);
  if (!filled) {
    complete(operation, filled.error());
    return false;
  }
  packet.to_be_relayed = to.relayed;
  if (to.relayed && to.link->output.credit_exhausted()) {
    ++parts_.state.counters.relay_stalls;
    trace_stall(TraceKind::kRelayStall, to);
  }
  packet.header = to.header;
  const MessageFields fields = fields_of(
      operation, needs_answer ? PacketType::kDataSync : PacketType::kData, packet.payload.size());
  encode_message_fields(fields, packet.header);
  if (total > datalen && operation.mode == SendMode::kStandard && parts_.settings.is_ours(to.rank))
    allow_early(packet.header);
  operation.phase_ =
      needs_answer ? SendOperation::Phase::kAwaitingSyncAck : SendOperation::Phase::kQueued;
  if (needs_answer) {
    sends_.emplace(operation.request_id_, &operation);
    if (parts_.state.times_answers) [[unlikely]]
      operation.asked_at_ = std::chrono::steady_clock::now();
  }
  ++operation.packets_queued_;
  count_first_packet(to, fields);
  return true;
}

void SendPath::send_first_packet(Peer& to, SendOperation& operation) {
  if (send_in_one_piece(to, operation)) return;
  OutgoingPacket packet;
  if (!make_first_packet(to, operation, packet)) return;
  Link& link = *to.link;
  if (should_coalesce(packet.payload.size())) {
    link.output.enqueue(std::move(packet));
    return parts_.sender.start_batch(link, parts_.settings.relay.origin_batch_target);
  }
  const auto sent = link.output.send(std::move(packet));
  parts_.sender.finish(link, sent);
  // A packet that was not queued is in no list, so a failure of the engine does not complete it.
  if (sent || operation.complete()) return;
  complete(operation, parts_.failures.survives_end_of(link)
                          ? Error{ErrorKind::kLost, sent.error().text}
                          : sent.error());
}

/// Returns true if the message is short and need not wait for credit.
bool SendPath::leaves_in_one_piece(const Peer& to, std::uint64_t size) const {
  return size <= std::min<std::uint64_t>(kMaxInlinePayload, parts_.settings.datalen) &&
         !(to.relayed && to.link->output.credit_exhausted());
}

/// Writes a short message in one piece directly into its batch, alone or behind others, and
/// completes it, since its buffer is free. Most messages are of this kind. Returns false if this
/// one is not, or must wait for credit.
bool SendPath::send_in_one_piece(Peer& to, SendOperation& operation) {
  const std::uint64_t size = operation.cursor_.total();
  if (!leaves_in_one_piece(to, size) || operation.mode == SendMode::kSynchronous ||
      !operation.cursor_.straight())
    return false;
  send_one_piece(to, fields_of(operation, PacketType::kData, size), operation.cursor_.borrow(size));
  complete(operation);
  return true;
}

bool SendPath::send_short(const ShortMessage& message) {
  if (parts_.failure.happened()) return false;
  Peer& to = parts_.peers.peer(message.destination);
  const std::size_t size = message.bytes.size();
  if (!leaves_in_one_piece(to, size) || to.format != Format::kNative || !to.held.empty() ||
      !to.send_credit.may_send(to.marks))
    return false;
  MessageFields fields;
  fields.type = PacketType::kData;
  fields.len = static_cast<std::uint32_t>(size);
  fields.srqid = parts_.state.new_request_id();
  fields.msglen = size;
  fields.lsrank = message.source_rank;
  fields.tag = message.tag;
  fields.cid = message.context;
  fields.count = size;
  send_one_piece(to, fields, message.bytes, message.may_wait);
  return true;
}

/// Sends a short message in one piece, alone or in a batch behind others.
void SendPath::send_one_piece(Peer& to, const MessageFields& fields,
                              std::span<const std::byte> bytes, bool may_wait) {
  Link& link = *to.link;
  const bool coalesce =
      should_coalesce(bytes.size()) || (may_wait && parts_.settings.relay.origin_batch_target > 0);
  if (!coalesce && link.output.empty() && link.output.streams.empty())
    return send_alone(to, fields, bytes);
  write_message(to, fields, bytes, link.output.append(bytes.size(), to.relayed));
  count_first_packet(to, fields);
  if (coalesce) return parts_.sender.start_batch(link, parts_.settings.relay.origin_batch_target);
  if (!link.output.wants_output) parts_.sender.flush(link);
}

/// Sends a message at once, without a batch. For messages that a peer waits for.
void SendPath::send_alone(Peer& to, const MessageFields& fields, std::span<const std::byte> bytes) {
  std::array<std::byte, kPacketHeaderSize + kMaxInlinePayload> packet;
  write_message(to, fields, bytes, packet.data());
  count_first_packet(to, fields);
  parts_.sender.finish(*to.link,
                       to.link->output.send_alone(
                           std::span(packet).first(kPacketHeaderSize + bytes.size()), to.relayed));
}

void SendPath::count_first_packet(Peer& to, const MessageFields& fields) {
  EngineCounters& counters = parts_.state.counters;
  to.send_credit.packet_sent(to.marks, fields.len);
  ++counters.packets_sent;
  if (parts_.state.trace != nullptr && fields.cid != kClockContext) [[unlikely]]
    trace_packet(to, fields, flow_of(parts_.settings.here, fields.srqid));
  if (fields.cid == kLibraryContext) return;
  ++counters.messages_sent;
  counters.payload_bytes_sent += fields.len;
}

void SendPath::trace_packet(const Peer& to, const MessageFields& fields, std::uint64_t flow) {
  TraceEvent event;
  event.kind = TraceKind::kSent;
  event.name = static_cast<std::uint16_t>(fields.type);
  event.peer = to.rank;
  event.bytes = fields.len;
  event.flow = flow;
  parts_.state.trace->add_now(event);
}

void SendPath::trace_stall(TraceKind kind, const Peer& to) {
  if (parts_.state.trace == nullptr) [[likely]]
    return;
  TraceEvent event;
  event.kind = kind;
  event.peer = to.rank;
  parts_.state.trace->add_now(event);
}

/// Returns true if the message shall be batched. A process that begins many messages between two
/// polls does not wait for an answer to any single one. The first few messages leave at once, the
/// others together.
bool SendPath::should_coalesce(std::size_t payload) {
  return payload <= kMaxInlinePayload && parts_.settings.relay.origin_batch_target > 0 &&
         ++burst_ > burst_limit_;
}

void SendPath::poll_begins() {
  // Programs repeat themselves: after a long burst, only the first message of the next burst is
  // sent alone.
  if (burst_ > 0) burst_limit_ = burst_ > kSentAtOnce ? 1 : kSentAtOnce;
  burst_ = 0;
}

void SendPath::packet_left(SendOperation& operation) {
  IMPISHIM_ASSERT(operation.packets_queued_ > 0);
  --operation.packets_queued_;
  if (operation.packets_queued_ > 0 || operation.cancelling_) return;
  const bool short_standard = operation.phase_ == SendOperation::Phase::kQueued;
  const bool long_and_over = operation.phase_ == SendOperation::Phase::kStreaming &&
                             operation.cursor_.position() == operation.cursor_.total();
  if (short_standard || long_and_over) complete(operation);
}

/// Returns true if the next packet of a long message may leave. Otherwise moves the message, the
/// first of the link's streams, to those that wait for credit.
bool SendPath::may_stream(Link& link, SendOperation& operation, Peer& to) {
  if (!to.send_credit.may_send(to.marks)) {
    link.output.streams.pop_front();
    to.stalled.push_back(&operation);
    ++parts_.state.counters.flow_control_stalls;
    trace_stall(TraceKind::kFlowControlStall, to);
    return false;
  }
  if (to.relayed && link.output.credit_exhausted()) {
    link.output.streams.pop_front();
    link.output.awaiting_credit.push_back(&operation);
    ++parts_.state.counters.relay_stalls;
    trace_stall(TraceKind::kRelayStall, to);
    return false;
  }
  return true;
}

bool SendPath::refill(Link& link) {
  while (!link.output.streams.empty()) {
    SendOperation& operation = *link.output.streams.front();
    Peer& to = parts_.peers.peer(operation.destination);
    if (!may_stream(link, operation, to)) continue;
    const std::uint64_t rest = operation.cursor_.total() - operation.cursor_.position();
    OutgoingPacket packet;
    // Conversion errors were found before the first packet left.
    auto filled =
        next_payload(operation, std::min<std::uint64_t>(rest, parts_.settings.datalen), packet);
    if (!filled) {
      parts_.failures.fail(filled.error());
      return false;
    }
    packet.to_be_relayed = to.relayed;
    packet.header = to.header;
    const MessageFields fields = fields_of(operation, PacketType::kData, packet.payload.size());
    encode_message_fields(fields, packet.header);
    if (parts_.state.trace != nullptr) [[unlikely]]
      trace_packet(to, fields, 0);
    to.send_credit.packet_sent(to.marks, FlowMarks::kRestPayload);
    ++operation.packets_queued_;
    ++parts_.state.counters.packets_sent;
    parts_.state.counters.payload_bytes_sent += packet.payload.size();
    if (operation.cursor_.position() == operation.cursor_.total()) link.output.streams.pop_front();
    link.output.enqueue(std::move(packet));
    return true;
  }
  return false;
}

void SendPath::complete(SendOperation& operation) {
  operation.phase_ = SendOperation::Phase::kDone;
  --pending_;
  operation.finish();
}

void SendPath::complete(SendOperation& operation, const Error& error) {
  operation.result.error = error;
  complete(operation);
}

void SendPath::send_control(WorldRank destination, const MessageFields& fields) {
  Peer& to = parts_.peers.peer(destination);
  OutgoingPacket packet;
  packet.header = to.header;
  encode_message_fields(fields, packet.header);
  // A CANCEL asks about a message, and must not overtake it.
  packet.to_be_relayed = to.relayed && fields.type == PacketType::kCancel;
  ++parts_.state.counters.packets_sent;
  if (parts_.state.trace != nullptr) [[unlikely]]
    trace_packet(to, fields, 0);
  Link& link = *to.link;
  // A peer that has finished needs no more acknowledgements.
  if (link.state == LinkState::kClosed) return;
  if (fields.type != PacketType::kProtoAck) {
    to.send_credit.control_sent(to.marks);
    return parts_.sender.send(link, std::move(packet));
  }
  // A PROTOACK may wait for the program's answer to the message that it acknowledges.
  const auto sent = link.output.send_deferred(std::move(packet));
  // The next poll sends it, but a sleeping thread would not.
  if (sent && link.output.has_deferred()) return parts_.readiness.wake_sleepers();
  parts_.sender.finish(link, sent);
}

bool SendPath::needs(const Link& link) {
  if (pending_ == 0) return false;
  if (!link.output.empty() || link.output.holds() || !link.output.streams.empty() ||
      !link.output.awaiting_credit.empty())
    return true;
  const bool answer = std::any_of(sends_.begin(), sends_.end(), [&](const auto& each) {
    return parts_.peers.peer(each.second->destination).link == &link;
  });
  const auto& peers = parts_.peers.peers();
  const bool credit = std::any_of(peers.begin(), peers.end(), [&](const auto& each) {
    return each != nullptr && each->link == &link &&
           (!each->held.empty() || !each->stalled.empty());
  });
  return answer || credit;
}

void SendPath::fail(const Error& error) {
  std::set<SendOperation*> pending;
  for (const auto& link : parts_.peers.links()) {
    const auto dropped =
        link->input_ended ? link->output.drop_all() : link->output.drop_all_but_aborts();
    pending.insert(dropped.begin(), dropped.end());
  }
  for (const auto& each : parts_.peers.peers()) {
    if (each == nullptr) continue;
    pending.insert(each->held.begin(), each->held.end());
    pending.insert(each->stalled.begin(), each->stalled.end());
    each->held.clear();
    each->stalled.clear();
  }
  for (const auto& [id, operation] : sends_) pending.insert(operation);
  sends_.clear();
  questions_.clear();
  for (SendOperation* operation : pending) {
    if (!operation->complete()) complete(*operation, error);
  }
}

}  // namespace impishim::wire
