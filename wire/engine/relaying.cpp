// SPDX-License-Identifier: Apache-2.0
// Packets that this process relays: batches, and the limit on what may wait here for each neighbour
// (relay_credit.hpp).
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "wire/base/result.hpp"
#include "wire/engine/engine.hpp"
#include "wire/engine/engine_impl.hpp"
#include "wire/engine/link.hpp"
#include "wire/link/link_output.hpp"
#include "wire/packet/packet.hpp"
#include "wire/topology/job_map.hpp"
#include "wire/topology/route.hpp"

namespace impishim::wire {
namespace {

/// Returns true if packets of this type wait for credit on their way through other processes. All
/// other types free what relays hold.
bool takes_credit(PacketType type) { return carries_message(type) || type == PacketType::kCancel; }

}  // namespace

/// Returns true if the peer of `link` passes on packets for `destination`. False for other
/// implementations, which are not asked for anything.
bool Engine::Impl::relayed_beyond(const Link& link, WorldRank destination) const {
  if (link.local_proc >= 0) return destination != link.local_proc;
  const std::int32_t my_host = job.proc(here).host;
  const Host& host = job.host(link.remote_host);
  return job.client(host.client).impishim &&
         representative(job, link.remote_host, my_host) != destination;
}

void Engine::Impl::passed_on(Link& from, std::size_t bytes) {
  counters.relay_bytes -= bytes;
  if (!from.gives_credit) return;
  const bool was_due = from.debt.due();
  from.debt.left(bytes);
  if (was_due || !from.debt.due()) return;
  owing.push_back(&from);
  // A thread that polls sends the credit at the end of its poll; a sleeping thread must be woken.
  if (!polling && sleepers > 0) poller.wake();
}

/// Tells the peers of links how much has been relayed for them.
void Engine::Impl::return_credits_locked() {
  for (std::size_t i = 0; i < owing.size(); ++i) {
    Link& link = *owing[i];
    PacketHeader header;
    header.type = PacketType::kRelayAck;
    header.msglen = link.debt.take();
    if (link.state == LinkState::kClosed || link.input_ended) continue;
    OutgoingPacket packet;
    encode_packet_header(header, packet.header);
    auto sent = link.output.send(std::move(packet));
    if (!sent) {
      link_ended_locked(link, sent.error());
    } else {
      watch_output_locked(link);
    }
  }
  owing.clear();
}

/// Sends two kinds of batches: packets that were relayed while packets arrived, and messages that
/// this process began between two polls.
void Engine::Impl::flush_batches_locked() {
  batches_wait.store(false, std::memory_order_relaxed);
  for (std::size_t i = 0; i < batching.size(); ++i) {
    Link& link = *batching[i];
    link.in_batching = false;
    if (link.output.batched() == 0) continue;
    auto flushed = link.output.flush();
    if (!flushed) {
      link_ended_locked(link, flushed.error());
    } else {
      watch_output_locked(link);
    }
  }
  batching.clear();
}

void Engine::Impl::count_relayed_locked(std::size_t bytes) {
  counters.relay_bytes += bytes;
  counters.relay_bytes_peak = std::max(counters.relay_bytes_peak, counters.relay_bytes);
}

/// Copies a short packet that has arrived whole from the staging area to the next link's batch.
/// Returns false if the packet must wait, or is of a rare type; relay_locked() then handles it.
bool Engine::Impl::relay_whole_locked(Link& link) {
  Arrival& arrival = link.arrival;
  const std::span<const std::byte> packet = link.input.whole_packet();
  if (packet.empty() || !carries_message(link.input.header().type)) return false;
  Link& next = *arrival.relay_to;
  if (!next.output.enqueue_relayed(packet, link, link.latest_route.to_be_relayed)) return false;
  arrival.handled = true;
  link.input.take_whole();
  ++counters.packets_relayed;
  count_relayed_locked(packet.size());
  flush_if_full_locked(next, relay.batch_target);
  return true;
}

void Engine::Impl::relay_locked(Link& link) {
  Arrival& arrival = link.arrival;
  OutgoingPacket packet;
  packet.header = arrival.raw;
  packet.payload = arrival.owned.first(link.input.header().payload_size());
  packet.owned = std::move(arrival.owned);
  packet.passes_through = true;
  ++counters.packets_relayed;
  Link& next = *arrival.relay_to;
  // It is a late acknowledgement for a process that has left already.
  if (next.peer_finished && !carries_message(link.input.header().type)) return;
  if (takes_credit(link.input.header().type)) {
    count_relayed_locked(packet.size());
    packet.relayed_from = &link;
    packet.to_be_relayed = link.latest_route.to_be_relayed;
    if (packet.to_be_relayed && next.output.credit_exhausted()) ++counters.relay_stalls;
  }
  batch_locked(next, std::move(packet), relay.batch_target);
}

/// Adds a packet to the batches that flush_batches_locked() sends.
void Engine::Impl::batch_locked(Link& link, OutgoingPacket&& packet, std::uint64_t target) {
  link.output.enqueue(std::move(packet));
  flush_if_full_locked(link, target);
}

/// Flushes the batch if it has reached `target` bytes; otherwise leaves it for
/// flush_batches_locked().
void Engine::Impl::flush_if_full_locked(Link& link, std::uint64_t target) {
  if (link.output.batched() < target) {
    if (link.output.batched() == 0 || link.in_batching) return;
    link.in_batching = true;
    batching.push_back(&link);
    return;
  }
  auto flushed = link.output.flush();
  if (!flushed) return link_ended_locked(link, flushed.error());
  watch_output_locked(link);
}

/// Handles a RELAYACK: sends the packets that waited for credit, then continues long messages.
Result<void> Engine::Impl::credit_returned_locked(Link& link) {
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
  watch_output_locked(link);
  return {};
}

}  // namespace impishim::wire
