// SPDX-License-Identifier: Apache-2.0
#include "wire/path/receive_path.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <list>
#include <span>
#include <utility>

#include "wire/base/result.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/data/conversion.hpp"
#include "wire/data/type_layout.hpp"
#include "wire/message/early_message.hpp"
#include "wire/message/flow_control.hpp"
#include "wire/message/match_queue.hpp"
#include "wire/message/operation.hpp"
#include "wire/packet/packet.hpp"
#include "wire/peer/link.hpp"
#include "wire/peer/peer_table.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {

Result<void> ReceivePath::packet_begins(Link& link) {
  Arrival& arrival = link.arrival;
  const PacketHeader& header = link.input.header();
  Peer& from = parts_.peers.peer(arrival.source);
  // The rest of a long message is DATA. Its first packet always is DATASYNC, and a short message
  // fits one packet.
  const bool rest = header.type == PacketType::kData && header.msglen > parts_.settings.datalen;
  arrival.counts_as = rest ? FlowMarks::kRestPayload : header.len;
  if (!from.receive_credit.packet_arrived(from.marks, arrival.counts_as)) return sent_too_many();
  if (rest || header.cid != kLibraryContext)
    parts_.state.counters.payload_bytes_received += header.len;
  return rest ? rest_begins(link) : message_begins(link);
}

Error ReceivePath::sent_too_many() const {
  return {ErrorKind::kProtocol,
          fmt::format("more than {} packets without waiting for acknowledgements",
                      parts_.settings.job.values().hiwater)};
}

Result<void> ReceivePath::count_control(const PacketHeader& header, Peer& from) {
  // An answer may arrive beyond hiwater, too.
  if (header.type == PacketType::kCancel && !from.receive_credit.question_may_arrive(from.marks))
    return sent_too_many();
  if (from.receive_credit.control_received(from.marks)) send_protocol_ack(from.rank);
  return {};
}

/// Returns the rank of the sender of the arriving message in the message's communicator.
std::int32_t ReceivePath::source_rank(const Link& link) {
  const PacketHeader& header = link.input.header();
  return header.cid >= kServiceContexts ? link.arrival.source : header.lsrank;
}

Result<void> ReceivePath::message_begins(Link& link) {
  Arrival& arrival = link.arrival;
  const PacketHeader& header = link.input.header();
  if (header.tag < 0 || header.lsrank < 0) {
    return Error{ErrorKind::kProtocol,
                 fmt::format("a message with tag {} from rank {} of its communicator", header.tag,
                             header.lsrank)};
  }
  const std::uint64_t first = std::min<std::uint64_t>(header.msglen, parts_.settings.datalen);
  if (header.len != first) {
    return Error{ErrorKind::kProtocol,
                 fmt::format("a first packet with {} of {} bytes; {} belong there", header.len,
                             header.msglen, first)};
  }
  arrival.receive = queue_.match_arrival(header.cid, source_rank(link), header.tag);
  if (arrival.receive == nullptr) {
    arrival.owned = parts_.state.buffers.take(header.len);
    link.input.place(arrival.owned.first(header.len));
    return {};
  }
  if (receive_whole(link)) return {};
  accept(*arrival.receive, arrival.source, {source_rank(link), header.tag, header.msglen});
  prepare_area(link, *arrival.receive, header.len);
  if (header.msglen <= parts_.settings.datalen) return {};
  // The sender waits for the answer, and can have it while the first packet is still arriving.
  answer_match(*arrival.receive, arrival.source, header.srqid);
  if (parts_.failure.happened()) return *parts_.failure.error();
  return {};
}

/// Copies a short message that has arrived whole directly to its receive buffer, if the buffer
/// takes the bytes without conversion. Most messages are of this kind. Returns false if this one is
/// not; nothing was done then.
bool ReceivePath::receive_whole(Link& link) {
  Arrival& arrival = link.arrival;
  const PacketHeader& header = link.input.header();
  ReceiveOperation& operation = *arrival.receive;
  const MutableBuffer& buffer = operation.buffer;
  const std::span<const std::byte> packet = link.input.whole_packet();
  if (packet.empty() || header.type != PacketType::kData ||
      parts_.peers.peer(arrival.source).format != Format::kNative ||
      !buffer.layout->contiguous(buffer.count) ||
      header.len > buffer.packed_size(Format::kNative)) {
    return false;
  }
  if (header.len > 0)
    std::memcpy(moved(buffer.base, buffer.layout->first_offset()), &packet[kPacketHeaderSize],
                header.len);
  parts_.state.counters.count_copy(header.len);
  operation.result.source = source_rank(link);
  operation.result.tag = header.tag;
  operation.result.wire_bytes = header.msglen;
  arrival.receive = nullptr;
  arrival.handled = true;
  link.input.take_whole();
  count_received(arrival.source, arrival.counts_as);
  complete(operation, header.len);
  return true;
}

Result<void> ReceivePath::rest_begins(Link& link) {
  Arrival& arrival = link.arrival;
  const PacketHeader& header = link.input.header();
  const auto found = receives_.find(header.drqid);
  if (found == receives_.end() || found->second->sender_ != arrival.source) {
    return Error{ErrorKind::kProtocol,
                 fmt::format("data for receive {}, which is not waiting for any", header.drqid)};
  }
  ReceiveOperation& operation = *found->second;
  if (header.msglen != operation.result.wire_bytes) {
    return Error{ErrorKind::kProtocol,
                 fmt::format("the rest of a message of {} bytes that announced {}", header.msglen,
                             operation.result.wire_bytes)};
  }
  if (header.len > operation.result.wire_bytes - operation.arrived_) {
    return Error{ErrorKind::kProtocol,
                 fmt::format("more data than the {} bytes that a message announced",
                             operation.result.wire_bytes)};
  }
  arrival.receive = &operation;
  prepare_area(link, operation, header.len);
  // Packets of one message arrive in sequence. The next packet probably belongs to this message
  // too, unless this packet is the first of a sequence.
  const bool in_row = std::exchange(link.latest_rest, header.drqid) == header.drqid;
  if (in_row && header.len == parts_.settings.datalen && !arrival.unpack_at_end)
    link.input.place_next(next_area(operation, header.len));
  return {};
}

/// Returns the place for the payload that follows the arriving one of `size` bytes. Returns an
/// empty span if there is no such payload, or if it has no contiguous place in the user's memory.
std::span<std::byte> ReceivePath::next_area(const ReceiveOperation& operation,
                                            std::size_t size) const {
  const std::size_t next = std::min<std::uint64_t>(
      parts_.settings.datalen, operation.result.wire_bytes - operation.arrived_ - size);
  const std::span<std::byte> area = operation.cursor_.next(next);
  return area.size() == next ? area : std::span<std::byte>{};
}

Message ReceivePath::message_of(const Link& link) const {
  const PacketHeader& header = link.input.header();
  Message message;
  message.context = header.cid;
  message.source_rank = source_rank(link);
  message.tag = header.tag;
  message.source = link.arrival.source;
  message.request_id = header.srqid;
  message.message_bytes = header.msglen;
  message.native_bytes = native_estimate(header, message.source);
  message.synchronous = header.type == PacketType::kDataSync;
  message.may_be_early = header.msglen > parts_.settings.datalen &&
                         header.reserved == kMayComeEarly &&
                         parts_.settings.is_ours(message.source);
  message.payload_bytes = header.len;
  return message;
}

/// Estimates the native size for probes. Systems of this library send their native size in
/// pk_count, which a foreign system may fill with any value.
std::uint64_t ReceivePath::native_estimate(const PacketHeader& header, WorldRank source) const {
  const bool converted = parts_.settings.format_of(source) != Format::kNative;
  return converted && parts_.settings.is_ours(source) ? header.count : header.msglen;
}

void ReceivePath::accept(ReceiveOperation& operation, WorldRank sender, const Accepted& message) {
  operation.phase_ = ReceiveOperation::Phase::kReceiving;
  operation.sender_ = sender;
  operation.arrived_ = 0;
  operation.result.source = message.source_rank;
  operation.result.tag = message.tag;
  operation.result.wire_bytes = message.bytes;
  operation.cursor_ = UnpackCursor(operation.buffer, parts_.peers.peer(sender).format);
  if (message.bytes > operation.cursor_.total()) {
    operation.result.error =
        Error{ErrorKind::kTruncation, fmt::format("a message of {} bytes for a buffer of {}",
                                                  message.bytes, operation.cursor_.total())};
  }
}

/// Points the link at the user's memory if the bytes can stay as they arrive.
void ReceivePath::prepare_area(Link& link, ReceiveOperation& operation, std::size_t size) {
  Arrival& arrival = link.arrival;
  if (size == 0 || operation.cursor_.position() == operation.cursor_.total()) return;
  const std::span<std::byte> area = operation.cursor_.borrow(size);
  link.input.place(area);
  if (!area.empty()) return;
  arrival.owned = parts_.state.buffers.take(size);
  link.input.place(arrival.owned.first(size));
  arrival.unpack_at_end = true;
}

Result<void> ReceivePath::packet_ends(Link& link) {
  Arrival& arrival = link.arrival;
  const PacketHeader& header = link.input.header();
  if (arrival.receive == nullptr) {
    store_message(link);
    return {};
  }
  ReceiveOperation& operation = *arrival.receive;
  finish_payload(link, operation, header.len);
  count_received(arrival.source, arrival.counts_as);
  // The operation has been completed, and may no longer exist.
  if (parts_.failure.happened()) return *parts_.failure.error();
  arrival.receive = nullptr;
  if (header.type != PacketType::kDataSync) {
    if (operation.arrived_ == operation.result.wire_bytes) rest_ends(link, operation);
  } else if (header.msglen <= parts_.settings.datalen) {
    answer_match(operation, arrival.source, header.srqid);
  }
  return {};
}

/// Completes a receive whose last packet has arrived.
void ReceivePath::rest_ends(Link& link, ReceiveOperation& operation) {
  const PacketHeader& header = link.input.header();
  if (header.msglen > parts_.settings.datalen) receives_.erase(header.drqid);
  if (operation.early_) [[unlikely]]
    return early_arrived(*static_cast<EarlyMessage*>(operation.owner));
  complete(operation, operation.cursor_.native_bytes());
}

void ReceivePath::finish_payload(Link& link, ReceiveOperation& operation, std::size_t size) {
  Arrival& arrival = link.arrival;
  operation.arrived_ += size;
  if (!arrival.unpack_at_end) return;
  auto unpacked = operation.cursor_.unpack(arrival.owned.first(size));
  parts_.state.counters.count_copy(size);
  if (!unpacked && !operation.result.error) operation.result.error = unpacked.error();
  parts_.state.buffers.put(std::move(arrival.owned));
}

/// Sends SYNCACK to the sender of a DATASYNC packet that has matched. Completes the receive if the
/// packet was the whole message.
void ReceivePath::answer_match(ReceiveOperation& operation, WorldRank source,
                               std::uint64_t sender_request) {
  // Acknowledging the packet may have failed the engine, which did not know of this match at that
  // time.
  if (parts_.failure.happened()) {
    operation.result.error = *parts_.failure.error();
    return complete(operation, operation.cursor_.native_bytes());
  }
  MessageFields answer;
  answer.type = PacketType::kSyncAck;
  answer.srqid = sender_request;
  answer.drqid = parts_.state.new_request_id();
  // A complete receive must be in no list, whatever happens to the answer.
  if (operation.arrived_ == operation.result.wire_bytes) {
    complete(operation, operation.cursor_.native_bytes());
  } else {
    receives_.emplace(answer.drqid, &operation);
  }
  parts_.send_path.send_control(source, answer);
}

void ReceivePath::complete(ReceiveOperation& operation, std::uint64_t native_bytes) {
  operation.result.native_bytes = native_bytes;
  operation.phase_ = ReceiveOperation::Phase::kDone;
  if (operation.context != kLibraryContext) ++parts_.state.counters.messages_received;
  operation.finish();
}

/// Completes a receive that no message reaches any more.
void ReceivePath::complete_with(ReceiveOperation& operation, const Error& error) {
  operation.result.error = error;
  operation.phase_ = ReceiveOperation::Phase::kDone;
  operation.finish();
}

void ReceivePath::store_message(Link& link) {
  EngineCounters& counters = parts_.state.counters;
  Message message = message_of(link);
  message.payload = std::move(link.arrival.owned);
  ++counters.unexpected_messages;
  arrivals_.arrived(message.context);
  auto match = queue_.store(std::move(message));
  counters.unexpected_bytes_peak =
      std::max(counters.unexpected_bytes_peak, queue_.unexpected_bytes());
  parts_.flags.contested.store(queue_.contested(), std::memory_order_release);
  if (parts_.flags.relieving.load(std::memory_order_relaxed)) accept_early();
  if (match) deliver(*match->receive, std::move(match->message));
}

/// Delivers a stored message (its first packet) to a receive.
void ReceivePath::deliver(ReceiveOperation& operation, std::list<Message>&& one) {
  Message& message = one.front();
  accept(operation, message.source, {message.source_rank, message.tag, message.message_bytes});
  if (message.early != nullptr) {
    if (!message.counted) count_received(message.source, message.payload_bytes);
    match_early(*message.early, operation);
    return queue_.recycle(std::move(one));
  }
  auto unpacked = operation.cursor_.unpack(message.payload.first(message.payload_bytes));
  parts_.state.counters.count_copy(message.payload_bytes);
  if (!unpacked && !operation.result.error) operation.result.error = unpacked.error();
  operation.arrived_ = message.payload_bytes;
  parts_.state.buffers.put(std::move(message.payload));
  if (!message.counted) count_received(message.source, message.payload_bytes);
  if (message.synchronous) {
    if (is_cut_off(message)) [[unlikely]]
      complete_with(operation, parts_.state.lost.error(client_of(message.source)));
    else
      answer_match(operation, message.source, message.request_id);
  } else {
    complete(operation, operation.cursor_.native_bytes());
  }
  queue_.recycle(std::move(one));
}

void ReceivePath::start(ReceiveOperation& operation) {
  operation.begin();
  operation.result = Envelope{};
  operation.phase_ = ReceiveOperation::Phase::kPosted;
  if (parts_.failure.happened()) {
    operation.has_native_twin = false;
    return complete_with(operation, *parts_.failure.error());
  }
  auto message = queue_.post(operation);
  if (!message.empty()) return deliver(operation, std::move(message));
  const Error* const closed = queue_.closed(operation.context, operation.source);
  if (closed != nullptr) [[unlikely]]
    end_closed(operation, *closed);
}

void ReceivePath::start_matched(ReceiveOperation& operation, std::list<Message>&& message) {
  operation.begin();
  operation.result = Envelope{};
  operation.has_native_twin = false;
  deliver(operation, std::move(message));
}

void ReceivePath::cancel(ReceiveOperation& operation) {
  if (operation.complete() || !queue_.remove(operation)) return;
  operation.result.cancelled = true;
  operation.phase_ = ReceiveOperation::Phase::kDone;
  operation.finish();
}

void ReceivePath::settle(ReceiveOperation& operation, bool native_won) {
  if (parts_.failure.happened()) return;
  for (Match& match : queue_.settle(operation, native_won)) {
    if (match.message.empty()) [[unlikely]]
      complete_with(*match.receive, *queue_.closed(operation.context, operation.source));
    else
      deliver(*match.receive, std::move(match.message));
  }
  parts_.flags.contested.store(queue_.contested(), std::memory_order_release);
}

std::list<Message> ReceivePath::take(ContextId context, std::int32_t source, std::int32_t tag) {
  auto message = queue_.take(context, source, tag);
  // The message has left the unexpected queue, so flow control counts it.
  if (!message.empty() && !message.front().counted) {
    message.front().counted = true;
    count_received(message.front().source, message.front().payload_bytes);
  }
  return message;
}

void ReceivePath::forget_context(ContextId context) {
  for (Message& message : queue_.forget(context)) {
    if (!message.counted) count_received(message.source, message.payload_bytes);
    parts_.state.buffers.put(std::move(message.payload));
    if (message.early != nullptr) drop_early(*message.early);
  }
}

void ReceivePath::answer_cancel(const PacketHeader& header, WorldRank source) {
  auto message = queue_.take_cancelled(source, header.srqid);
  MessageFields answer;
  answer.type = message.empty() ? PacketType::kCancelNo : PacketType::kCancelYes;
  answer.srqid = header.srqid;
  if (!message.empty()) {
    if (!message.front().counted) count_received(source, message.front().payload_bytes);
    parts_.state.buffers.put(std::move(message.front().payload));
    queue_.recycle(std::move(message));
  }
  parts_.send_path.send_control(source, answer);
}

/// Counts one more packet of `source` as received by this process.
void ReceivePath::count_received(WorldRank source, std::uint32_t payload) {
  Peer& from = parts_.peers.peer(source);
  if (from.receive_credit.packet_received(from.marks, payload)) send_protocol_ack(source);
}

void ReceivePath::send_protocol_ack(WorldRank source) {
  MessageFields acknowledgement;
  acknowledgement.type = PacketType::kProtoAck;
  parts_.send_path.send_control(source, acknowledgement);
}

}  // namespace impishim::wire
