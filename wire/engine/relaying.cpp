// SPDX-License-Identifier: Apache-2.0
// Packets on their way through this process: batches, and what may wait here for each neighbour
// (relay_credit.hpp).
#include <fmt/format.h>

#include <algorithm>

#include "wire/engine/engine_impl.hpp"

namespace impishim::wire {
namespace {

/// What waits for credit on its way through other processes. All else frees what they hold.
bool takes_credit(PacketType type) { return carries_message(type) || type == PacketType::kCancel; }

}  // namespace

/// Whether the process at the other end of `link` passes on what is for `destination`. Nothing is
/// asked of other implementations.
bool Engine::Impl::relayed_beyond(const Link& link, WorldRank destination) const {
  if (link.local_proc >= 0) return destination != link.local_proc;
  const std::int32_t my_host = job.procs()[static_cast<std::size_t>(here)].host;
  const Host& host = job.hosts()[static_cast<std::size_t>(link.remote_host)];
  return job.clients()[static_cast<std::size_t>(host.client)].impishim &&
         representative(job, link.remote_host, my_host) != destination;
}

void Engine::Impl::passed_on(Link& from, std::size_t bytes) {
  counters.relay_bytes -= bytes;
  if (!from.gives_credit) return;
  const bool was_due = from.debt.due();
  from.debt.left(bytes);
  if (was_due || !from.debt.due()) return;
  owing.push_back(&from);
  // Whoever polls tells it at the end; a sleeper would not.
  if (!polling && sleepers > 0) poller.wake();
}

/// Tells the other ends of links what has been passed on for them.
void Engine::Impl::return_credits_locked() {
  for (std::size_t i = 0; i < owing.size(); ++i) {
    Link& link = *owing[i];
    PacketHeader header;
    header.type = PacketType::kRelayAck;
    header.msglen = link.debt.take();
    if (link.state == LinkState::kClosed || link.input_ended) continue;
    OutgoingPacket packet;
    encode_packet_header(header, packet.header);
    auto sent = link.send(std::move(packet));
    if (!sent) {
      link_ended_locked(link, sent.error());
    } else {
      watch_output_locked(link);
    }
  }
  owing.clear();
}

/// What was relayed while packets arrived leaves together, and what this process began between two
/// polls.
void Engine::Impl::flush_batches_locked() {
  batches_wait.store(false, std::memory_order_relaxed);
  for (std::size_t i = 0; i < batching.size(); ++i) {
    Link& link = *batching[i];
    link.in_batching = false;
    if (link.batched() == 0) continue;
    auto flushed = link.flush();
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

/// A short packet that has arrived whole goes from the staging area to the next link's batch at
/// once. False: it has to wait, or is a rare one; relay_locked() will see to it.
bool Engine::Impl::relay_whole_locked(Link& link) {
  Link::Incoming& incoming = link.incoming();
  const std::span<const std::byte> packet = link.whole_packet();
  if (packet.empty() || !carries_message(incoming.header.type)) return false;
  Link& next = *incoming.relay_to;
  if (!next.enqueue_relayed(packet, link, link.latest_route.to_be_relayed)) return false;
  incoming.handled = true;
  ++counters.packets_relayed;
  count_relayed_locked(packet.size());
  flush_if_full_locked(next, relay.batch_target);
  return true;
}

void Engine::Impl::relay_locked(Link& link) {
  Link::Incoming& incoming = link.incoming();
  OutgoingPacket packet;
  packet.header = incoming.raw;
  packet.payload = incoming.owned.first(incoming.header.payload_size());
  packet.owned = std::move(incoming.owned);
  packet.passes_through = true;
  ++counters.packets_relayed;
  Link& next = *incoming.relay_to;
  // Late acknowledgements for a process that has left already.
  if (next.peer_finished && !carries_message(incoming.header.type)) return;
  if (takes_credit(incoming.header.type)) {
    count_relayed_locked(packet.size());
    packet.relayed_from = &link;
    packet.to_be_relayed = link.latest_route.to_be_relayed;
    if (packet.to_be_relayed && next.credit_exhausted()) ++counters.relay_stalls;
  }
  batch_locked(next, std::move(packet), relay.batch_target);
}

/// Adds a packet to those that flush_batches_locked() sends.
void Engine::Impl::batch_locked(Link& link, OutgoingPacket&& packet, std::uint64_t target) {
  link.enqueue(std::move(packet));
  flush_if_full_locked(link, target);
}

/// What is batched waits for flush_batches_locked(), or leaves if it is `target` bytes.
void Engine::Impl::flush_if_full_locked(Link& link, std::uint64_t target) {
  if (link.batched() < target) {
    if (link.batched() == 0 || link.in_batching) return;
    link.in_batching = true;
    batching.push_back(&link);
    return;
  }
  auto flushed = link.flush();
  if (!flushed) return link_ended_locked(link, flushed.error());
  watch_output_locked(link);
}

/// RELAYACK: what has waited for it leaves, then long messages go on.
Result<void> Engine::Impl::credit_returned_locked(Link& link) {
  const std::uint64_t bytes = link.incoming().header.msglen;
  if (!link.credit.returned(bytes)) {
    return Error{ErrorKind::kProtocol, fmt::format("{} bytes relayed that were never sent", bytes)};
  }
  link.release_held();
  link.streams.insert(link.streams.end(), link.awaiting_credit.begin(), link.awaiting_credit.end());
  link.awaiting_credit.clear();
  auto flushed = link.flush();
  if (!flushed) return flushed.error();
  watch_output_locked(link);
  return {};
}

}  // namespace impishim::wire
