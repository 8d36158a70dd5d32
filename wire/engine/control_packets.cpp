// SPDX-License-Identifier: Apache-2.0
// Packets that carry no message (IMPI 3.6), and the check of who may send what over which link.
// Acknowledgements are accepted only from the process that they can come from, and only about what
// that process was asked.
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "wire/base/assert.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/address.hpp"
#include "wire/engine/engine.hpp"
#include "wire/engine/engine_impl.hpp"
#include "wire/engine/link.hpp"
#include "wire/engine/operation.hpp"
#include "wire/packet/packet.hpp"
#include "wire/topology/job_map.hpp"
#include "wire/topology/route.hpp"

namespace impishim::wire {
namespace {

/// Bound on what a process may make this one queue for it by CANCELs whose answers it does not
/// read.
constexpr std::size_t kMostQueuedAnswers = 65536;

Error broken(std::string text) { return {ErrorKind::kProtocol, std::move(text)}; }

}  // namespace

/// Handles the header of a packet that names no process: FINI, and the types that only this library
/// sends.
Result<void> Engine::Impl::link_packet_begins(Link& link) {
  Arrival& arrival = link.arrival;
  if (link.input.header().type == PacketType::kFini) {
    if (link.peer_finished) return broken("a second FINI");
    return {};
  }
  if (!link.gives_credit)
    return broken("a packet of a type that only systems of this library send to each other");
  if (link.input.header().type == PacketType::kAbort) {
    arrival.owned = buffers.take(link.input.header().len);
    link.input.place(arrival.owned.first(link.input.header().len));
  }
  return {};
}

/// Returns true if packets of `source` may come over `link`. A host sends for its own processes. A
/// process of this host sends for itself, and for the processes of those hosts towards which it
/// represents this host.
bool Engine::Impl::speaks_for(const Link& link, WorldRank source) const {
  const std::int32_t host = job.proc(source).host;
  if (link.remote_host >= 0) return host == link.remote_host;
  const std::int32_t my_host = job.proc(here).host;
  return source == link.local_proc ||
         (host != my_host && representative(job, my_host, host) == link.local_proc);
}

/// Returns true if this process relays packets on `route` that come over `link`. It relays packets
/// from a host to processes of this host, and packets that a process of this host itself sends.
bool Engine::Impl::relays_from(const Link& link, const PacketRoute& route) const {
  if (link.remote_host < 0) return route.source == link.local_proc;
  const auto host_of = [&](WorldRank rank) { return job.proc(rank).host; };
  return host_of(route.destination) == host_of(here);
}

/// Returns true if the packet may not follow a FINI. After the FINI of the link's own processes,
/// only acknowledgements may come over the link (IMPI 3.8). A process of this host continues to
/// relay for others after its own FINI.
bool Engine::Impl::comes_too_late(Link& link) {
  const Arrival& arrival = link.arrival;
  const bool of_peer = link.remote_host >= 0 || arrival.source == link.local_proc;
  return of_peer && (carries_message(link.input.header().type) ||
                     link.input.header().type == PacketType::kCancel);
}

Result<void> Engine::Impl::control_ends(Link& link) {
  const PacketHeader& header = link.input.header();
  if (concerns_link(header.type)) return link_packet_ends(link);
  const WorldRank source = link.arrival.source;
  Peer& from = peer(source);
  if (header.type == PacketType::kProtoAck) return protocol_acknowledged_locked(from);
  // An answer may arrive beyond hiwater, too.
  if (header.type == PacketType::kCancel && !from.receive_credit.question_may_arrive(from.marks))
    return sent_too_many();
  if (from.receive_credit.control_received(from.marks)) send_protocol_ack_locked(source);
  switch (header.type) {
    case PacketType::kSyncAck:
      return sync_acknowledged_locked(header, source);
    case PacketType::kCancelYes:
    case PacketType::kCancelNo:
      return cancel_answered_locked(header, source);
    default:
      IMPISHIM_ASSERT(header.type == PacketType::kCancel);
      // A process that reads its answers never has so many waiting.
      if (from.link->output.queued() > kMostQueuedAnswers)
        return broken("more CANCELs than it reads the answers of");
      answer_cancel_locked(header, source);
      return {};
  }
}

Result<void> Engine::Impl::link_packet_ends(Link& link) {
  switch (link.input.header().type) {
    case PacketType::kRelayAck:
      return credit_returned_locked(link);
    case PacketType::kAbort:
      abort_arrived_locked(link);
      return {};
    default:
      link.peer_finished = true;
      return {};
  }
}

/// Returns the cost of the packets for a process that wait here in a queue. Flow control has
/// counted them already.
std::uint32_t Engine::Impl::unsent_cost(const Peer& to) const {
  std::uint32_t cost = 0;
  if (to.link->output.empty() && !to.link->output.holds()) return cost;
  const ProcId& id = job.proc(to.rank).id;
  to.link->output.for_each_unsent([&](std::span<const std::byte, kPacketHeaderSize> raw) {
    PacketHeader header;
    const auto decoded =
        decode_packet_header(raw, std::numeric_limits<std::uint32_t>::max(), header);
    IMPISHIM_ASSERT(decoded.ok());
    if (concerns_link(header.type) || header.src != my_id || header.dest != id) return;
    if (carries_message(header.type)) {
      const bool rest = header.type == PacketType::kData && header.msglen > datalen;
      cost += to.marks.cost(rest ? FlowMarks::kRestPayload : header.len);
    } else if (header.type != PacketType::kProtoAck) {
      cost += to.marks.counts_control() ? 1 : 0;
    }
  });
  return cost;
}

Result<void> Engine::Impl::protocol_acknowledged_locked(Peer& from) {
  if (!from.send_credit.acknowledged(from.marks))
    return broken("a PROTOACK of packets that were never sent");
  if (from.send_credit.outstanding() < unsent_cost(from))
    return broken("a PROTOACK of packets that have not left");
  acknowledged_locked(from);
  return {};
}

/// Handles a SYNCACK: the first packet of a message has matched. The packet may still be leaving,
/// since a receiver need not wait for all of it.
Result<void> Engine::Impl::sync_acknowledged_locked(const PacketHeader& header, WorldRank source) {
  const auto found = sends.find(header.srqid);
  if (found == sends.end())
    return broken(fmt::format("a SYNCACK of request {}, which awaits none", header.srqid));
  SendOperation& operation = *found->second;
  if (operation.destination != source) {
    return broken(fmt::format("a SYNCACK of request {}, a message to rank {}", header.srqid,
                              operation.destination));
  }
  if (operation.phase_ != SendOperation::Phase::kAwaitingSyncAck) {
    return broken(
        fmt::format("a SYNCACK of request {}, which has not asked for one", header.srqid));
  }
  Link& link = *peer(source).link;
  if (operation.packets_queued_ > 0 && !link.output.has_begun(operation)) {
    return broken(fmt::format("a SYNCACK of request {}, whose message has not left", header.srqid));
  }
  sends.erase(found);
  if (operation.question_held_) forget_held_locked(operation);
  operation.cancelling_ = false;
  operation.phase_ = SendOperation::Phase::kStreaming;
  operation.peer_request_id_ = header.drqid;
  if (operation.cursor_.position() == operation.cursor_.total()) {
    if (operation.packets_queued_ == 0) complete_send_locked(operation);
    return {};
  }
  link.output.streams.push_back(&operation);
  auto flushed = link.output.flush();
  if (!flushed) {
    link_ended_locked(link, flushed.error());
    return {};
  }
  watch_output_locked(link);
  return {};
}

/// Names the sender of the packet that is being handled, as the job knows it. Names the process
/// that passed the packet on if the packet does not name its sender, or names a false one.
std::string Engine::Impl::offender_of(Link& link) const {
  const WorldRank rank = link.arrival.source >= 0 ? link.arrival.source : link.local_proc;
  const std::int32_t number = rank >= 0 ? job.proc(rank).host : link.remote_host;
  const Host& host = job.host(number);
  const std::string place =
      fmt::format("host {} of system {}, {}", number, host.client, address_text(host.address));
  if (rank < 0) return place;
  return fmt::format("rank {} ({}, process {})", rank, place, job.proc(rank).id.pid);
}

}  // namespace impishim::wire
