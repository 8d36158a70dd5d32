// SPDX-License-Identifier: Apache-2.0
#include "wire/path/relay.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "wire/base/result.hpp"
#include "wire/link/link_output.hpp"
#include "wire/packet/packet.hpp"
#include "wire/peer/link.hpp"

namespace impishim::wire {
namespace {

/// Returns true if packets of this type wait for credit on their way through other processes. All
/// other types free what relays hold.
bool takes_credit(PacketType type) { return carries_message(type) || type == PacketType::kCancel; }

}  // namespace

bool Relay::relay_whole(Link& link) {
  Arrival& arrival = link.arrival;
  const std::span<const std::byte> packet = link.input.whole_packet();
  if (packet.empty() || !carries_message(link.input.header().type)) return false;
  Link& next = *arrival.relay_to;
  if (!next.output.enqueue_relayed(packet, link, arrival.to_be_relayed)) return false;
  arrival.handled = true;
  link.input.take_whole();
  ++counters_.packets_relayed;
  counters_.count_relayed(packet.size());
  sender_.flush_if_full(next, batch_target_);
  return true;
}

void Relay::relay(Link& link) {
  Arrival& arrival = link.arrival;
  OutgoingPacket packet;
  packet.header = arrival.raw;
  packet.payload = arrival.owned.first(link.input.header().payload_size());
  packet.owned = std::move(arrival.owned);
  packet.passes_through = true;
  ++counters_.packets_relayed;
  Link& next = *arrival.relay_to;
  // It is a late acknowledgement for a process that has left already.
  if (next.peer_finished && !carries_message(link.input.header().type)) return;
  if (takes_credit(link.input.header().type)) {
    counters_.count_relayed(packet.size());
    packet.relayed_from = &link;
    packet.to_be_relayed = arrival.to_be_relayed;
    if (packet.to_be_relayed && next.output.credit_exhausted()) ++counters_.relay_stalls;
  }
  next.output.enqueue(std::move(packet));
  sender_.flush_if_full(next, batch_target_);
}

void Relay::drop(Link& link) {
  const PacketHeader& header = link.input.header();
  if (!takes_credit(header.type)) return;
  const std::size_t size = kPacketHeaderSize + header.payload_size();
  counters_.count_relayed(size);
  passed_on(link, size);
}

void Relay::passed_on(Link& from, std::size_t bytes) {
  counters_.relay_bytes -= bytes;
  if (!from.gives_credit) return;
  const bool was_due = from.debt.due();
  from.debt.left(bytes);
  if (was_due || !from.debt.due()) return;
  owing_.push_back(&from);
  if (!polling_) readiness_.wake_sleepers();
}

Result<void> Relay::credit_returned(Link& link) {
  const std::uint64_t bytes = link.input.header().msglen;
  if (!link.output.credit.returned(bytes)) {
    return Error{ErrorKind::kProtocol, fmt::format("{} bytes relayed that were never sent", bytes)};
  }
  link.output.release_held();
  link.output.streams.insert(link.output.streams.end(), link.output.awaiting_credit.begin(),
                             link.output.awaiting_credit.end());
  link.output.awaiting_credit.clear();
  auto flushed = link.output.flush();
  if (!flushed) return flushed.error();
  readiness_.watch_output(link);
  return {};
}

void Relay::return_credits() {
  for (std::size_t i = 0; i < owing_.size(); ++i) {
    Link& link = *owing_[i];
    PacketHeader header;
    header.type = PacketType::kRelayAck;
    header.msglen = link.debt.take();
    if (link.state == LinkState::kClosed || link.input_ended) continue;
    OutgoingPacket packet;
    encode_packet_header(header, packet.header);
    sender_.send(link, std::move(packet));
  }
  owing_.clear();
}

}  // namespace impishim::wire
