// SPDX-License-Identifier: Apache-2.0
#include "wire/peer/peer_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "wire/channel/address.hpp"
#include "wire/channel/channel.hpp"
#include "wire/link/buffer_pool.hpp"
#include "wire/link/link_output.hpp"
#include "wire/link/relay_credit.hpp"
#include "wire/message/flow_control.hpp"
#include "wire/packet/packet.hpp"
#include "wire/peer/engine_settings.hpp"
#include "wire/peer/link.hpp"
#include "wire/topology/job_map.hpp"
#include "wire/topology/route.hpp"

namespace impishim::wire {

PeerTable::PeerTable(const EngineSettings& settings, std::vector<LocalChannel> local_channels,
                     std::vector<HostChannel> host_channels, OutputOwner& owner,
                     BufferPool& buffers)
    : settings_(settings), peers_(static_cast<std::size_t>(settings.job.size())) {
  for (LocalChannel& each : local_channels) {
    Link& link = add_link(std::move(each.channel), owner, buffers);
    link.local_proc = each.proc;
    link.gives_credit = true;
    link.output.credit = RelayCredit(settings_.relay.local_sender_limit);
    local_links_.emplace(each.proc, &link);
  }
  for (HostChannel& each : host_channels) add_host(std::move(each), owner, buffers);
}

void PeerTable::add_hosts(std::vector<HostChannel> channels, OutputOwner& owner,
                          BufferPool& buffers) {
  peers_.resize(static_cast<std::size_t>(settings_.job.size()));
  for (HostChannel& each : channels) add_host(std::move(each), owner, buffers);
}

void PeerTable::add_host(HostChannel channel, OutputOwner& owner, BufferPool& buffers) {
  Link& link = add_link(std::move(channel.channel), owner, buffers);
  link.remote_host = channel.host;
  link.gives_credit = settings_.job.client(settings_.job.host(channel.host).client).impishim;
  if (link.gives_credit) link.output.credit = RelayCredit(settings_.relay.remote_sender_limit);
  host_links_.emplace(channel.host, &link);
}

void PeerTable::remove_host(const Link& link) {
  const WorldRank only = settings_.job.host(link.remote_host).first_proc;
  peers_[static_cast<std::size_t>(only)].reset();
  host_links_.erase(link.remote_host);
  std::erase_if(links_, [&](const auto& each) { return each.get() == &link; });
}

Link* PeerTable::find_by_token(const Links& links, std::uint64_t token) {
  // As long as no link was removed, they are numbered from 0.
  if (token < links.size() && links[token]->token == token) return links[token].get();
  const auto found =
      std::lower_bound(links.begin(), links.end(), token,
                       [](const auto& each, std::uint64_t wanted) { return each->token < wanted; });
  return found == links.end() || (*found)->token != token ? nullptr : found->get();
}

Link& PeerTable::add_link(std::unique_ptr<Channel> channel, OutputOwner& owner,
                          BufferPool& buffers) {
  links_.push_back(std::make_unique<Link>(owner, std::move(channel), buffers, settings_.datalen));
  links_.back()->token = next_token_++;
  return *links_.back();
}

Peer& PeerTable::make_peer(WorldRank rank) {
  auto& slot = peers_[static_cast<std::size_t>(rank)];
  slot = std::make_unique<Peer>(rank, marks_towards(rank));
  slot->link = link_towards(settings_.here, rank);
  slot->relayed = slot->link != nullptr && relayed_beyond(*slot->link, settings_.here, rank);
  slot->format = settings_.format_of(rank);
  PacketHeader header;
  header.src = settings_.my_id;
  header.dest = settings_.job.proc(rank).id;
  encode_packet_header(header, slot->header);
  return *slot;
}

FlowMarks PeerTable::marks_towards(WorldRank rank) const {
  const NegotiatedValues& values = settings_.job.values();
  if (!settings_.is_ours(rank)) return FlowMarks::of_packets(values.ackmark, values.hiwater);
  return FlowMarks::by_size(values.ackmark, values.hiwater, settings_.datalen);
}

Link* PeerTable::link_towards(WorldRank source, WorldRank destination) const {
  const NextHop hop = next_hop(settings_.job, settings_.here, source, destination);
  if (hop.kind == NextHop::Kind::kRemote) {
    const auto found = host_links_.find(hop.host);
    return found == host_links_.end() ? nullptr : found->second;
  }
  const auto found = local_links_.find(hop.proc);
  return hop.kind == NextHop::Kind::kArrived || found == local_links_.end() ? nullptr
                                                                            : found->second;
}

bool PeerTable::relayed_beyond(const Link& link, WorldRank source, WorldRank destination) const {
  if (link.local_proc >= 0) return destination != link.local_proc;
  const JobMap& job = settings_.job;
  const Host& host = job.host(link.remote_host);
  return job.client(host.client).impishim &&
         receiving_representative(job, source, link.remote_host) != destination;
}

WorldRank PeerTable::source_over(const Link& link, const ProcId& id) const {
  if (link.remote_host < 0 || !settings_.job.host(link.remote_host).direct)
    return settings_.job.rank_of(id);
  const WorldRank only = settings_.job.host(link.remote_host).first_proc;
  return settings_.job.proc(only).id == id ? only : -1;
}

bool PeerTable::speaks_for(const Link& link, WorldRank source) const {
  const JobMap& job = settings_.job;
  const std::int32_t host = job.proc(source).host;
  if (link.remote_host >= 0) {
    return host == link.remote_host &&
           (job.values().lanes == 1 || job.host(host).direct ||
            receiving_representative(job, source, job.proc(settings_.here).host) == settings_.here);
  }
  const std::int32_t my_host = job.proc(settings_.here).host;
  return source == link.local_proc ||
         (host != my_host && receiving_representative(job, source, my_host) == link.local_proc);
}

bool PeerTable::relays_from(const Link& link, const PacketRoute& route) const {
  if (link.remote_host < 0) return route.source == link.local_proc;
  const auto host_of = [&](WorldRank rank) { return settings_.job.proc(rank).host; };
  return host_of(route.destination) == host_of(settings_.here);
}

std::string PeerTable::name_of_sender(const Link& link) const {
  const JobMap& job = settings_.job;
  const WorldRank rank = link.arrival.source >= 0 ? link.arrival.source : link.local_proc;
  const std::int32_t number = rank >= 0 ? job.proc(rank).host : link.remote_host;
  const Host& host = job.host(number);
  std::string place =
      fmt::format("host {} of system {}, {}", number, host.client, address_text(host.address));
  if (rank < 0) return place;
  return fmt::format("rank {} ({}, process {})", rank, place, job.proc(rank).id.pid);
}

}  // namespace impishim::wire
