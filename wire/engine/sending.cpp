// SPDX-License-Identifier: Apache-2.0
// Operations to packets: the message protocols of IMPI 3.7, source side.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "wire/base/assert.hpp"
#include "wire/base/mutex.hpp"
#include "wire/base/result.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/data/conversion.hpp"
#include "wire/data/type_layout.hpp"
#include "wire/engine/engine.hpp"
#include "wire/engine/engine_impl.hpp"
#include "wire/engine/flow_control.hpp"
#include "wire/engine/link.hpp"
#include "wire/engine/operation.hpp"
#include "wire/link/inline_payload.hpp"
#include "wire/link/link_output.hpp"
#include "wire/packet/packet.hpp"
#include "wire/topology/job_map.hpp"

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

}  // namespace

void Engine::Impl::start_send_locked(SendOperation& operation) {
  operation.begin();
  operation.result = Envelope{};
  operation.cancelling_ = false;
  operation.question_held_ = false;
  operation.packets_queued_ = 0;
  operation.peer_request_id_ = 0;
  ++pending_sends;
  if (failed.load(std::memory_order_relaxed)) return complete_send_locked(operation, *failure);
  Peer& to = peer(operation.destination);
  operation.cursor_ = PackCursor(operation.buffer, to.format);
  operation.request_id_ = next_request_id++;
  if (to.format == Format::kExternal32 && operation.cursor_.total() > datalen &&
      may_overflow(*operation.buffer.layout)) {
    auto checked = check_values(operation.buffer, to.format);
    if (!checked) return complete_send_locked(operation, checked.error());
  }
  if (!to.held.empty() || !to.send_credit.may_send(to.marks)) {
    operation.phase_ = SendOperation::Phase::kHeldByFlowControl;
    to.held.push_back(&operation);
    ++counters.flow_control_stalls;
    return;
  }
  send_first_packet_locked(to, operation);
}

MessageFields Engine::Impl::fields_of(const SendOperation& operation, PacketType type,
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
Result<void> Engine::Impl::next_payload(SendOperation& operation, std::size_t size,
                                        OutgoingPacket& packet) {
  packet.operation = &operation;
  if (size == 0) return {};
  packet.payload = operation.cursor_.borrow(size);
  if (!packet.payload.empty()) return {};
  packet.owned = buffers.take(size);
  auto packed = operation.cursor_.pack(packet.owned.first(size));
  if (!packed) return packed.error();
  packet.payload = packet.owned.first(*packed);
  count_copy(*packed);
  return {};
}

/// Counts a copy of a payload, packed or unpacked, from one place in this process's memory to
/// another.
void Engine::Impl::count_copy(std::size_t bytes) {
  if (bytes == 0) return;
  ++counters.copied.packets;
  counters.copied.bytes += bytes;
}

/// Returns false if the values cannot be packed; the operation is then complete with that error.
bool Engine::Impl::make_first_packet_locked(Peer& to, SendOperation& operation,
                                            OutgoingPacket& packet) {
  const std::uint64_t total = operation.cursor_.total();
  const std::size_t size = std::min<std::uint64_t>(total, datalen);
  const bool needs_answer = total > datalen || operation.mode == SendMode::kSynchronous;
  auto filled = next_payload(operation, size, packet);
  if (!filled) {
    complete_send_locked(operation, filled.error());
    return false;
  }
  packet.to_be_relayed = to.relayed;
  if (to.relayed && to.link->output.credit_exhausted()) ++counters.relay_stalls;
  packet.header = to.header;
  encode_message_fields(
      fields_of(operation, needs_answer ? PacketType::kDataSync : PacketType::kData,
                packet.payload.size()),
      packet.header);
  if (total > datalen && operation.mode == SendMode::kStandard && is_ours(to.rank))
    allow_early(packet.header);
  operation.phase_ =
      needs_answer ? SendOperation::Phase::kAwaitingSyncAck : SendOperation::Phase::kQueued;
  if (needs_answer) sends.emplace(operation.request_id_, &operation);
  ++operation.packets_queued_;
  count_first_packet_locked(to, operation.context, packet.payload.size());
  return true;
}

void Engine::Impl::send_first_packet_locked(Peer& to, SendOperation& operation) {
  if (send_in_one_piece_locked(to, operation)) return;
  OutgoingPacket packet;
  if (!make_first_packet_locked(to, operation, packet)) return;
  Link& link = *to.link;
  if (should_coalesce(packet.payload.size())) {
    link.output.enqueue(std::move(packet));
    return start_batch_locked(link);
  }
  auto sent = link.output.send(std::move(packet));
  if (sent) return watch_output_locked(link);
  link_ended_locked(link, sent.error());
  // A packet that was not queued is in no list, so a failure of the engine does not complete it.
  if (!operation.complete()) complete_send_locked(operation, sent.error());
}

/// Returns true if the message is short and need not wait for credit.
bool Engine::Impl::leaves_in_one_piece(const Peer& to, std::uint64_t size) const {
  return size <= std::min<std::uint64_t>(kMaxInlinePayload, datalen) &&
         !(to.relayed && to.link->output.credit_exhausted());
}

/// Writes a short message in one piece directly into its batch, alone or behind others, and
/// completes it, since its buffer is free. Most messages are of this kind. Returns false if this
/// one is not, or must wait for credit.
bool Engine::Impl::send_in_one_piece_locked(Peer& to, SendOperation& operation) {
  const std::uint64_t size = operation.cursor_.total();
  if (!leaves_in_one_piece(to, size) || operation.mode == SendMode::kSynchronous ||
      !operation.cursor_.straight())
    return false;
  send_one_piece_locked(to, fields_of(operation, PacketType::kData, size),
                        operation.cursor_.borrow(size));
  complete_send_locked(operation);
  return true;
}

static_assert(Engine::kLongestShort == kMaxInlinePayload);

bool Engine::Impl::send_short_locked(const ShortMessage& message) {
  if (failed.load(std::memory_order_relaxed)) return false;
  Peer& to = peer(message.destination);
  const std::size_t size = message.bytes.size();
  if (!leaves_in_one_piece(to, size) || to.format != Format::kNative || !to.held.empty() ||
      !to.send_credit.may_send(to.marks))
    return false;
  MessageFields fields;
  fields.type = PacketType::kData;
  fields.len = static_cast<std::uint32_t>(size);
  fields.srqid = next_request_id++;
  fields.msglen = size;
  fields.lsrank = message.source_rank;
  fields.tag = message.tag;
  fields.cid = message.context;
  fields.count = size;
  send_one_piece_locked(to, fields, message.bytes);
  return true;
}

namespace {

/// Writes a message to `place`, which has room for the header and `bytes`.
void write_message(const Peer& to, const MessageFields& fields, std::span<const std::byte> bytes,
                   std::byte* place) {
  write_packet(to.header, bytes, place);
  encode_message_fields(fields, std::span<std::byte, kPacketHeaderSize>(place, kPacketHeaderSize));
}

}  // namespace

/// Sends a short message in one piece, alone or in a batch behind others.
void Engine::Impl::send_one_piece_locked(Peer& to, const MessageFields& fields,
                                         std::span<const std::byte> bytes) {
  Link& link = *to.link;
  const bool coalesce = should_coalesce(bytes.size());
  if (!coalesce && link.output.empty() && link.output.streams.empty())
    return send_alone_locked(to, fields, bytes);
  write_message(to, fields, bytes, link.output.append(bytes.size(), to.relayed));
  count_first_packet_locked(to, fields.cid, bytes.size());
  if (coalesce) return start_batch_locked(link);
  if (link.output.wants_output) return;
  auto flushed = link.output.flush();
  if (!flushed) return link_ended_locked(link, flushed.error());
  watch_output_locked(link);
}

/// Sends a message at once, without a batch. For messages that a peer waits for.
void Engine::Impl::send_alone_locked(Peer& to, const MessageFields& fields,
                                     std::span<const std::byte> bytes) {
  std::array<std::byte, kPacketHeaderSize + kMaxInlinePayload> packet;
  write_message(to, fields, bytes, packet.data());
  count_first_packet_locked(to, fields.cid, bytes.size());
  auto sent = to.link->output.send_alone(std::span(packet).first(kPacketHeaderSize + bytes.size()),
                                         to.relayed);
  if (!sent) return link_ended_locked(*to.link, sent.error());
  watch_output_locked(*to.link);
}

void Engine::Impl::count_first_packet_locked(Peer& to, ContextId context, std::size_t payload) {
  to.send_credit.packet_sent(to.marks, static_cast<std::uint32_t>(payload));
  ++counters.packets_sent;
  if (context == kLibraryContext) return;
  ++counters.messages_sent;
  counters.payload_bytes_sent += payload;
}

/// Returns true if the message shall be batched. A process that begins many messages between two
/// polls does not wait for an answer to any single one. The first few messages leave at once, the
/// others together.
bool Engine::Impl::should_coalesce(std::size_t payload) {
  return payload <= kMaxInlinePayload && relay.origin_batch_target > 0 && ++burst > burst_limit;
}

/// Registers the batch. It leaves when it is large enough, at the next poll or call that waits, or
/// when the progress thread finds it.
void Engine::Impl::start_batch_locked(Link& link) {
  flush_if_full_locked(link, relay.origin_batch_target);
  if (batching.empty() || batches_wait.load(std::memory_order_relaxed)) return;
  batches_wait.store(true, std::memory_order_relaxed);
  // The progress thread polls again soon, as after a poll.
  count_application_poll_locked();
  if (sleepers > 0) poller.wake();
}

void Engine::Impl::packet_left(SendOperation& operation) {
  IMPISHIM_ASSERT(operation.packets_queued_ > 0);
  --operation.packets_queued_;
  if (operation.packets_queued_ > 0 || operation.cancelling_) return;
  const bool short_standard = operation.phase_ == SendOperation::Phase::kQueued;
  const bool long_and_over = operation.phase_ == SendOperation::Phase::kStreaming &&
                             operation.cursor_.position() == operation.cursor_.total();
  if (short_standard || long_and_over) complete_send_locked(operation);
}

bool Engine::Impl::refill(Link& link) {
  while (!link.output.streams.empty()) {
    SendOperation& operation = *link.output.streams.front();
    Peer& to = peer(operation.destination);
    if (!to.send_credit.may_send(to.marks)) {
      link.output.streams.pop_front();
      to.stalled.push_back(&operation);
      ++counters.flow_control_stalls;
      continue;
    }
    if (to.relayed && link.output.credit_exhausted()) {
      link.output.streams.pop_front();
      link.output.awaiting_credit.push_back(&operation);
      ++counters.relay_stalls;
      continue;
    }
    const std::uint64_t rest = operation.cursor_.total() - operation.cursor_.position();
    OutgoingPacket packet;
    // Conversion errors were found before the first packet left.
    auto filled = next_payload(operation, std::min<std::uint64_t>(rest, datalen), packet);
    if (!filled) {
      fail_locked(filled.error());
      return false;
    }
    packet.to_be_relayed = to.relayed;
    packet.header = to.header;
    encode_message_fields(fields_of(operation, PacketType::kData, packet.payload.size()),
                          packet.header);
    to.send_credit.packet_sent(to.marks, FlowMarks::kRestPayload);
    ++operation.packets_queued_;
    ++counters.packets_sent;
    counters.payload_bytes_sent += packet.payload.size();
    if (operation.cursor_.position() == operation.cursor_.total()) link.output.streams.pop_front();
    link.output.enqueue(std::move(packet));
    return true;
  }
  return false;
}

void Engine::Impl::complete_send_locked(SendOperation& operation) {
  operation.phase_ = SendOperation::Phase::kDone;
  --pending_sends;
  operation.finish();
}

void Engine::Impl::complete_send_locked(SendOperation& operation, const Error& error) {
  operation.result.error = error;
  complete_send_locked(operation);
}

void Engine::Impl::send_control_locked(WorldRank destination, const MessageFields& fields) {
  Peer& to = peer(destination);
  OutgoingPacket packet;
  packet.header = to.header;
  encode_message_fields(fields, packet.header);
  // A CANCEL asks about a message, and must not overtake it.
  packet.to_be_relayed = to.relayed && fields.type == PacketType::kCancel;
  ++counters.packets_sent;
  Link& link = *to.link;
  // A peer that has finished needs no more acknowledgements.
  if (link.state == LinkState::kClosed) return;
  if (fields.type != PacketType::kProtoAck) to.send_credit.control_sent(to.marks);
  // A PROTOACK may wait for the program's answer to the message that it acknowledges.
  const bool may_wait = fields.type == PacketType::kProtoAck;
  auto sent =
      may_wait ? link.output.send_deferred(std::move(packet)) : link.output.send(std::move(packet));
  if (may_wait && sent && link.output.has_deferred()) {
    // The next poll sends it, but a sleeping thread would not.
    if (sleepers > 0) poller.wake();
    return;
  }
  if (!sent) return link_ended_locked(link, sent.error());
  watch_output_locked(link);
}

/// Handles a PROTOACK. One held message goes first, so that a long message cannot hold it back for
/// ever; then long messages; then the other held messages. They have waited together and leave
/// together.
void Engine::Impl::acknowledged_locked(Peer& from) {
  Link& link = *from.link;
  const auto release_held = [&]() IMPISHIM_REQUIRES(mutex) {
    if (from.held.empty() || !from.send_credit.may_send(from.marks)) return false;
    SendOperation& operation = *from.held.front();
    from.held.pop_front();
    if (operation.question_held_) {
      ask_to_cancel_locked(operation);
      return true;
    }
    OutgoingPacket packet;
    if (make_first_packet_locked(from, operation, packet)) link.output.enqueue(std::move(packet));
    return true;
  };
  const auto flush = [&]() IMPISHIM_REQUIRES(mutex) {
    auto flushed = link.output.flush();
    if (!flushed) link_ended_locked(link, flushed.error());
    return flushed.ok();
  };
  static_cast<void>(release_held());
  if (!from.stalled.empty()) {
    link.output.streams.insert(link.output.streams.end(), from.stalled.begin(), from.stalled.end());
    from.stalled.clear();
    if (!flush()) return;
  }
  while (release_held()) {
  }
  if (!link.output.empty() && !flush()) return;
  watch_output_locked(link);
}

}  // namespace impishim::wire
