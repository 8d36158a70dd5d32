// SPDX-License-Identifier: Apache-2.0
#include "wire/engine/packet_dispatcher.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "wire/base/assert.hpp"
#include "wire/base/result.hpp"
#include "wire/message/operation.hpp"
#include "wire/packet/packet.hpp"
#include "wire/peer/engine_settings.hpp"
#include "wire/peer/link.hpp"
#include "wire/peer/lost_clients.hpp"
#include "wire/peer/peer_table.hpp"
#include "wire/topology/job_map.hpp"
#include "wire/trace/trace.hpp"
#include "wire/trace/trace_event.hpp"

namespace impishim::wire {
namespace {

/// Largest packet that may arrive before a queued acknowledgement is sent.
constexpr std::size_t kShortPacket = 8192;

/// Bound on what a process may make this one queue for it by CANCELs whose answers it does not
/// read.
constexpr std::size_t kMostQueuedAnswers = 65536;

Error broken(std::string text) { return {ErrorKind::kProtocol, std::move(text)}; }

/// Returns true if the packet may not follow a FINI. After the FINI of the link's own processes,
/// only acknowledgements may come over the link (IMPI 3.8). A process of this host continues to
/// relay for others after its own FINI.
bool comes_too_late(const Link& link) {
  const bool of_peer = link.remote_host >= 0 || link.arrival.source == link.local_proc;
  return of_peer && (carries_message(link.input.header().type) ||
                     link.input.header().type == PacketType::kCancel);
}

}  // namespace

Result<std::size_t> PacketDispatcher::receive(Link& link) {
  // The number of reads is bounded, so that one busy link does not starve the others.
  constexpr int kReadsAtOnce = 16;
  std::size_t events = 0;
  for (int i = 0; i < kReadsAtOnce; ++i) {
    const auto some = link.input.read(*link.channel);
    if (!some) return some.error();
    if (*some == 0) break;
    const auto packets = handle_input(link);
    if (!packets) return packets.error();
    events += 1 + *packets;
    if (!link.input.may_have_more()) break;
  }
  return events;
}

/// Handles the bytes that were read. Returns the number of packets that are complete.
Result<std::size_t> PacketDispatcher::handle_input(Link& link) {
  for (std::size_t packets = 0;;) {
    const auto event = link.input.next();
    if (!event) return event.error();
    if (*event == LinkInput::Event::kNone) return packets;
    if (*event == LinkInput::Event::kPacketBegins) {
      auto begun = packet_begins(link);
      if (!begun) return begun.error();
      if (!link.arrival.handled) continue;
      link.arrival.source = -1;
      ++packets;
      continue;
    }
    auto ended = packet_ends(link);
    link.arrival.receive = nullptr;
    if (!ended) return ended.error();
    link.arrival.source = -1;
    ++packets;
  }
}

/// Checks a header that has arrived, and decides where its payload goes.
Result<void> PacketDispatcher::packet_begins(Link& link) {
  Arrival& arrival = link.arrival;
  arrival.begin();
  const PacketHeader& header = link.input.header();
  ++parts_.state.counters.packets_received;
  // A long packet takes longer to arrive than the sender should wait for an acknowledgement.
  if (link.output.has_deferred() && header.payload_size() > kShortPacket) {
    auto flushed = link.output.flush();
    if (!flushed) return flushed.error();
    parts_.readiness.watch_output(link);
  }
  if (concerns_link(header.type)) return link_packet_begins(link);
  const PacketRoute& route = link.latest_route;
  if (route.source < 0 || header.src != route.source_id || header.dest != route.destination_id) {
    auto found = find_route(link, header);
    if (!found) return found;
    if (arrival.relay_to == &link) [[unlikely]]
      return {};
  }
  arrival.source = route.source;
  if (parts_.state.trace != nullptr) [[unlikely]]
    trace_arrival(link, route);
  if (link.peer_finished && comes_too_late(link))
    return broken("a packet after FINI that is no acknowledgement");
  if (route.relay_to != nullptr) {
    relayed_packet_begins(link);
    return {};
  }
  if (!carries_message(header.type)) return {};
  return parts_.receive_path.packet_begins(link);
}

/// Traces a packet that begins to arrive. The first packet of a message has the message's flow.
void PacketDispatcher::trace_arrival(const Link& link, const PacketRoute& route) {
  const PacketHeader& header = link.input.header();
  if (carries_message(header.type) && header.cid == kClockContext) return;
  const bool rest = header.type == PacketType::kData && header.msglen > parts_.settings.datalen;
  TraceEvent event;
  event.kind = route.relay_to != nullptr ? TraceKind::kRelayed : TraceKind::kReceived;
  event.name = static_cast<std::uint16_t>(header.type);
  event.peer = route.relay_to != nullptr ? route.destination : route.source;
  event.bytes = header.payload_size();
  if (carries_message(header.type) && !rest) event.flow = flow_of(route.source, header.srqid);
  parts_.state.trace->add_now(event);
}

/// Begins a packet that names no process: FINI, and the types that only this library sends.
Result<void> PacketDispatcher::link_packet_begins(Link& link) {
  Arrival& arrival = link.arrival;
  if (link.input.header().type == PacketType::kFini) {
    if (link.peer_finished) return broken("a second FINI");
    return {};
  }
  if (!link.gives_credit)
    return broken("a packet of a type that only systems of this library send to each other");
  if (link.input.header().type == PacketType::kAbort) {
    arrival.owned = parts_.state.buffers.take(link.input.header().len);
    link.input.place(arrival.owned.first(link.input.header().len));
  }
  return {};
}

/// Begins a packet for another process.
void PacketDispatcher::relayed_packet_begins(Link& link) {
  Arrival& arrival = link.arrival;
  arrival.relay_to = link.latest_route.relay_to;
  arrival.to_be_relayed = link.latest_route.to_be_relayed;
  if (parts_.relay.relay_whole(link)) return;
  std::ranges::copy(link.input.raw_header(), arrival.raw.begin());
  const std::size_t size = link.input.header().payload_size();
  arrival.owned = parts_.state.buffers.take(size);
  link.input.place(arrival.owned.first(size));
}

/// Finds the processes that a packet names, and the link that it leaves by. Refuses a packet that
/// cannot come over this link.
Result<void> PacketDispatcher::find_route(Link& link, const PacketHeader& header) {
  const EngineSettings& settings = parts_.settings;
  PacketRoute route;
  route.source_id = header.src;
  route.destination_id = header.dest;
  route.source = parts_.peers.source_over(link, header.src);
  route.destination =
      header.dest == settings.my_id ? settings.here : settings.job.rank_of(header.dest);
  if (route.source < 0 || route.destination < 0)
    return broken("a packet from or to a process that is not in this job");
  if (!parts_.peers.speaks_for(link, route.source)) {
    return broken(fmt::format(
        "a packet that claims to come from rank {}, whose packets come another way", route.source));
  }
  if (route.destination != settings.here) {
    route.relay_to = parts_.peers.relays_from(link, route)
                         ? parts_.peers.link_towards(route.source, route.destination)
                         : nullptr;
    if (route.relay_to == nullptr || route.relay_to == &link) {
      return broken(
          fmt::format("a packet for rank {}, which is not to be reached here", route.destination));
    }
    route.to_be_relayed =
        parts_.peers.relayed_beyond(*route.relay_to, route.source, route.destination);
  }
  if (is_of_lost_client(route)) {
    // The route is not kept, so that each such packet comes here.
    link.latest_route = {};
    link.arrival.relay_to = &link;
    return {};
  }
  link.latest_route = route;
  return {};
}

/// Returns true if the packet is to be dropped: its sender, or the process that it is for, is lost.
bool PacketDispatcher::is_of_lost_client(const PacketRoute& route) const {
  const LostClients& lost = parts_.state.lost;
  const JobMap& job = parts_.settings.job;
  return !lost.empty() && (lost.contains(job.proc(route.source).client) ||
                           lost.contains(job.proc(route.destination).client));
}

/// Handles a packet whose payload is complete.
Result<void> PacketDispatcher::packet_ends(Link& link) {
  if (link.arrival.relay_to != nullptr) {
    if (link.arrival.relay_to != &link) {
      parts_.relay.relay(link);
    } else if (link.input.header().dest != parts_.settings.my_id) {
      parts_.relay.drop(link);
    }
    return {};
  }
  const PacketType type = link.input.header().type;
  if (carries_message(type)) return parts_.receive_path.packet_ends(link);
  return concerns_link(type) ? link_packet_ends(link) : control_ends(link);
}

Result<void> PacketDispatcher::link_packet_ends(Link& link) {
  switch (link.input.header().type) {
    case PacketType::kRelayAck:
      return parts_.relay.credit_returned(link);
    case PacketType::kAbort:
      parts_.shutdown.abort_arrived(link);
      return {};
    case PacketType::kLost:
      return parts_.shutdown.loss_arrived(link);
    default:
      link.peer_finished = true;
      return {};
  }
}

/// Handles a packet that carries no message (IMPI 3.6).
Result<void> PacketDispatcher::control_ends(Link& link) {
  const PacketHeader& header = link.input.header();
  const WorldRank source = link.arrival.source;
  Peer& from = parts_.peers.peer(source);
  if (header.type == PacketType::kProtoAck) return parts_.send_path.protocol_acknowledged(from);
  auto counted = parts_.receive_path.count_control(header, from);
  if (!counted) return counted;
  switch (header.type) {
    case PacketType::kSyncAck:
      return parts_.send_path.sync_acknowledged(header, source);
    case PacketType::kCancelYes:
    case PacketType::kCancelNo:
      return parts_.send_path.cancel_answered(header, source);
    default:
      IMPISHIM_ASSERT(header.type == PacketType::kCancel);
      // A process that reads its answers never has so many waiting.
      if (from.link->output.queued() > kMostQueuedAnswers)
        return broken("more CANCELs than it reads the answers of");
      parts_.receive_path.answer_cancel(header, source);
      return {};
  }
}

}  // namespace impishim::wire
