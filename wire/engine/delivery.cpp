// SPDX-License-Identifier: Apache-2.0
// Packets to operations: the message protocols of IMPI 3.7, destination side, and relaying.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <list>
#include <span>
#include <utility>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/data/type_layout.hpp"
#include "wire/engine/early_message.hpp"
#include "wire/engine/engine.hpp"
#include "wire/engine/engine_impl.hpp"
#include "wire/engine/flow_control.hpp"
#include "wire/engine/link.hpp"
#include "wire/engine/match_queue.hpp"
#include "wire/engine/operation.hpp"
#include "wire/packet/packet.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {
namespace {

/// Largest packet that may arrive before a queued acknowledgement is sent.
constexpr std::size_t kShortPacket = 8192;

}  // namespace

Result<std::size_t> Engine::Impl::receive_locked(Link& link) {
  // The number of reads is bounded, so that one busy link does not starve the others.
  constexpr int kReadsAtOnce = 16;
  std::size_t events = 0;
  for (int i = 0; i < kReadsAtOnce; ++i) {
    const auto some = link.input.read(*link.channel);
    if (!some) return some.error();
    if (*some == 0) break;
    const auto packets = handle_input_locked(link);
    if (!packets) return packets.error();
    events += 1 + *packets;
    if (!link.input.may_have_more()) break;
  }
  return events;
}

/// Handles the bytes that were read. Returns the number of packets that are complete.
Result<std::size_t> Engine::Impl::handle_input_locked(Link& link) {
  for (std::size_t packets = 0;;) {
    const auto event = link.input.next();
    if (!event) return event.error();
    if (*event == LinkInput::Event::kNone) return packets;
    if (*event == LinkInput::Event::kPacketBegins) {
      auto begun = packet_begins_locked(link);
      if (!begun) return begun.error();
      if (!link.arrival.handled) continue;
      link.arrival.source = -1;
      ++packets;
      continue;
    }
    auto ended = packet_ends_locked(link);
    link.arrival.receive = nullptr;
    if (!ended) return ended.error();
    link.arrival.source = -1;
    ++packets;
  }
}

/// Checks a header that has arrived, and decides where its payload goes.
Result<void> Engine::Impl::packet_begins_locked(Link& link) {
  Arrival& arrival = link.arrival;
  arrival.begin();
  const PacketHeader& header = link.input.header();
  ++counters.packets_received;
  // A long packet takes longer to arrive than the sender should wait for an acknowledgement.
  if (link.output.has_deferred() && header.payload_size() > kShortPacket) {
    auto flushed = link.output.flush();
    if (!flushed) return flushed.error();
    watch_output_locked(link);
  }
  if (concerns_link(header.type)) return link_packet_begins(link);
  PacketRoute& route = link.latest_route;
  if (route.source < 0 || header.src != route.source_id || header.dest != route.destination_id) {
    auto found = find_route_locked(link, header);
    if (!found) return found;
  }
  arrival.source = route.source;
  if (link.peer_finished && comes_too_late(link)) {
    return Error{ErrorKind::kProtocol, "a packet after FINI that is no acknowledgement"};
  }
  if (route.relay_to != nullptr) {
    arrival.relay_to = route.relay_to;
    if (relay_whole_locked(link)) return {};
    std::ranges::copy(link.input.raw_header(), arrival.raw.begin());
    arrival.owned = buffers.take(header.payload_size());
    link.input.place(arrival.owned.first(header.payload_size()));
    return {};
  }
  if (!carries_message(header.type)) return {};
  Peer& from = peer(arrival.source);
  // The rest of a long message is DATA. Its first packet always is DATASYNC, and a short message
  // fits one packet.
  const bool rest = header.type == PacketType::kData && header.msglen > datalen;
  arrival.counts_as = rest ? FlowMarks::kRestPayload : header.len;
  if (!from.receive_credit.packet_arrived(from.marks, arrival.counts_as)) {
    return sent_too_many();
  }
  if (rest || header.cid != kLibraryContext) counters.payload_bytes_received += header.len;
  return rest ? rest_begins(link) : message_begins(link);
}

Error Engine::Impl::sent_too_many() const {
  return {ErrorKind::kProtocol,
          fmt::format("more than {} packets without waiting for acknowledgements",
                      job.values().hiwater)};
}

/// Finds the processes that a packet names, and the link that it leaves by. Refuses a packet that
/// cannot come over this link.
Result<void> Engine::Impl::find_route_locked(Link& link, const PacketHeader& header) {
  PacketRoute route;
  route.source_id = header.src;
  route.destination_id = header.dest;
  route.source = job.rank_of(header.src);
  route.destination = header.dest == my_id ? here : job.rank_of(header.dest);
  if (route.source < 0 || route.destination < 0) {
    return Error{ErrorKind::kProtocol, "a packet from or to a process that is not in this job"};
  }
  if (!speaks_for(link, route.source)) {
    return Error{
        ErrorKind::kProtocol,
        fmt::format("a packet that claims to come from rank {}, whose packets come another way",
                    route.source)};
  }
  if (route.destination != here) {
    route.relay_to = relays_from(link, route) ? link_towards(route.destination) : nullptr;
    if (route.relay_to == nullptr || route.relay_to == &link) {
      return Error{
          ErrorKind::kProtocol,
          fmt::format("a packet for rank {}, which is not to be reached here", route.destination)};
    }
    route.to_be_relayed = relayed_beyond(*route.relay_to, route.destination);
  }
  link.latest_route = route;
  return {};
}

Result<void> Engine::Impl::message_begins(Link& link) {
  Arrival& arrival = link.arrival;
  const PacketHeader& header = link.input.header();
  if (header.tag < 0 || header.lsrank < 0) {
    return Error{ErrorKind::kProtocol,
                 fmt::format("a message with tag {} from rank {} of its communicator", header.tag,
                             header.lsrank)};
  }
  const std::uint64_t first = std::min<std::uint64_t>(header.msglen, datalen);
  if (header.len != first) {
    return Error{ErrorKind::kProtocol,
                 fmt::format("a first packet with {} of {} bytes; {} belong there", header.len,
                             header.msglen, first)};
  }
  arrival.receive = queue.match_arrival(header.cid, header.lsrank, header.tag);
  if (arrival.receive == nullptr) {
    arrival.owned = buffers.take(header.len);
    link.input.place(arrival.owned.first(header.len));
    return {};
  }
  if (receive_whole_locked(link)) return {};
  accept_message_locked(*arrival.receive, arrival.source,
                        {header.lsrank, header.tag, header.msglen});
  prepare_area(link, *arrival.receive, header.len);
  if (header.msglen <= datalen) return {};
  // The sender waits for the answer, and can have it while the first packet is still arriving.
  answer_match_locked(*arrival.receive, arrival.source, header.srqid);
  if (failed.load(std::memory_order_relaxed)) return *failure;
  return {};
}

/// Copies a short message that has arrived whole directly to its receive buffer, if the buffer
/// takes the bytes without conversion. Most messages are of this kind. Returns false if this one is
/// not; nothing was done then.
bool Engine::Impl::receive_whole_locked(Link& link) {
  Arrival& arrival = link.arrival;
  const PacketHeader& header = link.input.header();
  ReceiveOperation& operation = *arrival.receive;
  const MutableBuffer& buffer = operation.buffer;
  const std::span<const std::byte> packet = link.input.whole_packet();
  if (packet.empty() || header.type != PacketType::kData ||
      peer(arrival.source).format != Format::kNative || !buffer.layout->contiguous(buffer.count) ||
      header.len > buffer.packed_size(Format::kNative)) {
    return false;
  }
  if (header.len > 0)
    std::memcpy(moved(buffer.base, buffer.layout->first_offset()), &packet[kPacketHeaderSize],
                header.len);
  count_copy(header.len);
  operation.result.source = header.lsrank;
  operation.result.tag = header.tag;
  operation.result.wire_bytes = header.msglen;
  arrival.receive = nullptr;
  arrival.handled = true;
  link.input.take_whole();
  count_received_locked(arrival.source, arrival.counts_as);
  complete_receive_locked(operation, header.len);
  return true;
}

Result<void> Engine::Impl::rest_begins(Link& link) {
  Arrival& arrival = link.arrival;
  const PacketHeader& header = link.input.header();
  const auto found = receives.find(header.drqid);
  if (found == receives.end() || found->second->sender_ != arrival.source) {
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
  if (in_row && header.len == datalen && !arrival.unpack_at_end)
    link.input.place_next(next_area(operation, header.len));
  return {};
}

/// Returns the place for the payload that follows the arriving one of `size` bytes. Returns an
/// empty span if there is no such payload, or if it has no contiguous place in the user's memory.
std::span<std::byte> Engine::Impl::next_area(const ReceiveOperation& operation,
                                             std::size_t size) const {
  const std::size_t next =
      std::min<std::uint64_t>(datalen, operation.result.wire_bytes - operation.arrived_ - size);
  const std::span<std::byte> area = operation.cursor_.next(next);
  return area.size() == next ? area : std::span<std::byte>{};
}

Message Engine::Impl::message_of(const Link& link) const {
  const PacketHeader& header = link.input.header();
  Message message;
  message.context = header.cid;
  message.source_rank = header.lsrank;
  message.tag = header.tag;
  message.source = link.arrival.source;
  message.request_id = header.srqid;
  message.message_bytes = header.msglen;
  message.native_bytes = native_estimate(header, message.source);
  message.synchronous = header.type == PacketType::kDataSync;
  message.may_be_early =
      header.msglen > datalen && header.reserved == kMayComeEarly && is_ours(message.source);
  message.payload_bytes = header.len;
  return message;
}

/// Estimates the native size for probes. Systems of this library send their native size in
/// pk_count, which a foreign system may fill with any value.
std::uint64_t Engine::Impl::native_estimate(const PacketHeader& header, WorldRank source) const {
  const auto client = static_cast<std::size_t>(job.proc(source).client);
  const bool converted = format_of_client[client] != Format::kNative;
  return converted && job.clients()[client].impishim ? header.count : header.msglen;
}

void Engine::Impl::accept_message_locked(ReceiveOperation& operation, WorldRank sender,
                                         const Accepted& message) {
  operation.phase_ = ReceiveOperation::Phase::kReceiving;
  operation.sender_ = sender;
  operation.arrived_ = 0;
  operation.result.source = message.source_rank;
  operation.result.tag = message.tag;
  operation.result.wire_bytes = message.bytes;
  operation.cursor_ = UnpackCursor(operation.buffer, peer(sender).format);
  if (message.bytes > operation.cursor_.total()) {
    operation.result.error =
        Error{ErrorKind::kTruncation, fmt::format("a message of {} bytes for a buffer of {}",
                                                  message.bytes, operation.cursor_.total())};
  }
}

/// Points the link at the user's memory if the bytes can stay as they arrive.
void Engine::Impl::prepare_area(Link& link, ReceiveOperation& operation, std::size_t size) {
  Arrival& arrival = link.arrival;
  if (size == 0 || operation.cursor_.position() == operation.cursor_.total()) return;
  const std::span<std::byte> area = operation.cursor_.borrow(size);
  link.input.place(area);
  if (!area.empty()) return;
  arrival.owned = buffers.take(size);
  link.input.place(arrival.owned.first(size));
  arrival.unpack_at_end = true;
}

/// Handles a packet whose payload is complete.
Result<void> Engine::Impl::packet_ends_locked(Link& link) {
  Arrival& arrival = link.arrival;
  if (arrival.relay_to != nullptr) {
    relay_locked(link);
    return {};
  }
  if (!carries_message(link.input.header().type)) return control_ends(link);
  if (arrival.receive == nullptr) {
    store_message_locked(link);
    return {};
  }
  ReceiveOperation& operation = *arrival.receive;
  finish_payload_locked(link, operation, link.input.header().len);
  count_received_locked(arrival.source, arrival.counts_as);
  // The operation has been completed, and may no longer exist.
  if (failed.load(std::memory_order_relaxed)) return *failure;
  arrival.receive = nullptr;
  if (link.input.header().type != PacketType::kDataSync) {
    if (operation.arrived_ == operation.result.wire_bytes) {
      if (link.input.header().msglen > datalen) receives.erase(link.input.header().drqid);
      if (operation.early_) [[unlikely]] {
        arrival.receive = nullptr;
        early_arrived_locked(*static_cast<EarlyMessage*>(operation.owner));
        return {};
      }
      complete_receive_locked(operation, operation.cursor_.native_bytes());
    }
    return {};
  }
  if (link.input.header().msglen <= datalen)
    answer_match_locked(operation, arrival.source, link.input.header().srqid);
  return {};
}

void Engine::Impl::finish_payload_locked(Link& link, ReceiveOperation& operation,
                                         std::size_t size) {
  Arrival& arrival = link.arrival;
  operation.arrived_ += size;
  if (!arrival.unpack_at_end) return;
  auto unpacked = operation.cursor_.unpack(arrival.owned.first(size));
  count_copy(size);
  if (!unpacked && !operation.result.error) operation.result.error = unpacked.error();
  buffers.put(std::move(arrival.owned));
}

/// Sends SYNCACK to the sender of a DATASYNC packet that has matched. Completes the receive if the
/// packet was the whole message.
void Engine::Impl::answer_match_locked(ReceiveOperation& operation, WorldRank source,
                                       std::uint64_t sender_request) {
  // Acknowledging the packet may have failed the engine, which did not know of this match at that
  // time.
  if (failed.load(std::memory_order_relaxed)) {
    operation.result.error = failure;
    return complete_receive_locked(operation, operation.cursor_.native_bytes());
  }
  MessageFields answer;
  answer.type = PacketType::kSyncAck;
  answer.srqid = sender_request;
  answer.drqid = next_request_id++;
  // A complete receive must be in no list, whatever happens to the answer.
  if (operation.arrived_ == operation.result.wire_bytes) {
    complete_receive_locked(operation, operation.cursor_.native_bytes());
  } else {
    receives.emplace(answer.drqid, &operation);
  }
  send_control_locked(source, answer);
}

void Engine::Impl::complete_receive_locked(ReceiveOperation& operation,
                                           std::uint64_t native_bytes) {
  operation.result.native_bytes = native_bytes;
  operation.phase_ = ReceiveOperation::Phase::kDone;
  if (operation.context != kLibraryContext) ++counters.messages_received;
  operation.finish();
}

void Engine::Impl::store_message_locked(Link& link) {
  Message message = message_of(link);
  message.payload = std::move(link.arrival.owned);
  ++counters.unexpected_messages;
  if (!watched.empty() && watched.count(message.context) != 0) {
    ++arrivals;
    arrived.notify_all();
  }
  auto match = queue.store(std::move(message));
  counters.unexpected_bytes_peak =
      std::max(counters.unexpected_bytes_peak, queue.unexpected_bytes());
  contested.store(queue.contested(), std::memory_order_release);
  if (relieving.load(std::memory_order_relaxed)) accept_early_locked();
  if (match) deliver_locked(*match->receive, std::move(match->message));
}

/// Delivers a stored message (its first packet) to a receive.
void Engine::Impl::deliver_locked(ReceiveOperation& operation, std::list<Message>&& one) {
  Message& message = one.front();
  accept_message_locked(operation, message.source,
                        {message.source_rank, message.tag, message.message_bytes});
  if (message.early != nullptr) {
    if (!message.counted) count_received_locked(message.source, message.payload_bytes);
    match_early_locked(*message.early, operation);
    return queue.recycle(std::move(one));
  }
  auto unpacked = operation.cursor_.unpack(message.payload.first(message.payload_bytes));
  count_copy(message.payload_bytes);
  if (!unpacked && !operation.result.error) operation.result.error = unpacked.error();
  operation.arrived_ = message.payload_bytes;
  buffers.put(std::move(message.payload));
  if (!message.counted) count_received_locked(message.source, message.payload_bytes);
  if (message.synchronous) {
    answer_match_locked(operation, message.source, message.request_id);
  } else {
    complete_receive_locked(operation, operation.cursor_.native_bytes());
  }
  queue.recycle(std::move(one));
}

void Engine::Impl::deliver_all_locked(std::vector<Match>&& matches) {
  for (Match& match : matches) deliver_locked(*match.receive, std::move(match.message));
  contested.store(queue.contested(), std::memory_order_release);
}

void Engine::Impl::start_receive_locked(ReceiveOperation& operation) {
  operation.begin();
  operation.result = Envelope{};
  operation.phase_ = ReceiveOperation::Phase::kPosted;
  if (failed.load(std::memory_order_relaxed)) {
    operation.has_native_twin = false;
    operation.result.error = failure;
    operation.phase_ = ReceiveOperation::Phase::kDone;
    return operation.finish();
  }
  auto message = queue.post(operation);
  if (!message.empty()) deliver_locked(operation, std::move(message));
}

/// Counts one more packet of `source` as received by this process.
void Engine::Impl::count_received_locked(WorldRank source, std::uint32_t payload) {
  Peer& from = peer(source);
  if (from.receive_credit.packet_received(from.marks, payload)) send_protocol_ack_locked(source);
}

void Engine::Impl::send_protocol_ack_locked(WorldRank source) {
  MessageFields acknowledgement;
  acknowledgement.type = PacketType::kProtoAck;
  send_control_locked(source, acknowledgement);
}

}  // namespace impishim::wire
