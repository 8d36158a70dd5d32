// SPDX-License-Identifier: Apache-2.0
#include "wire/topology/job_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/channel/address.hpp"
#include "wire/packet/packet.hpp"

namespace impishim::wire {

namespace {

std::size_t hash_of(const ProcId& id) {
  std::uint64_t halves[2];
  std::memcpy(halves, id.host.data(), sizeof(halves));
  // The final mixing step of MurmurHash3. Addresses of one network and pids of one node differ in
  // few bits, and these must affect the lowest bits.
  std::uint64_t mixed =
      halves[0] ^ (halves[1] * 0x9E3779B97F4A7C15ULL) ^ (static_cast<std::uint64_t>(id.pid) << 1U);
  mixed = (mixed ^ (mixed >> 33U)) * 0xFF51AFD7ED558CCDULL;
  mixed = (mixed ^ (mixed >> 33U)) * 0xC4CEB9FE1A85EC53ULL;
  return static_cast<std::size_t>(mixed ^ (mixed >> 33U));
}

}  // namespace

/// Returns the slot of `id` in the index, or the empty slot where `id` would be inserted.
std::size_t JobMap::slot_of(const ProcId& id) const {
  const std::size_t mask = by_id_.size() - 1;
  std::size_t slot = hash_of(id) & mask;
  while (by_id_[slot] >= 0 && !(procs_[static_cast<std::size_t>(by_id_[slot])].id == id))
    slot = (slot + 1) & mask;
  return slot;
}

std::string common_fabric(const Client& a, const Client& b) {
  const auto common = std::ranges::find_first_of(a.fabrics, b.fabrics);
  return common == a.fabrics.end() ? std::string() : *common;
}

Result<JobMap> JobMap::create(std::vector<Client> clients, std::vector<Host> hosts,
                              std::vector<ProcId> procs, NegotiatedValues values) {
  JobMap map;
  map.procs_.reserve(procs.size());
  std::int32_t next_host = 0;
  WorldRank next_proc = 0;
  for (std::size_t c = 0; c < clients.size(); ++c) {
    Client& client = clients[c];
    client.first_host = next_host;
    client.first_proc = next_proc;
    if (client.host_count < 1 || static_cast<std::size_t>(client.host_count) >
                                     hosts.size() - static_cast<std::size_t>(next_host)) {
      return Error{ErrorKind::kProtocol,
                   fmt::format("system {} announced {} hosts; {} are described for the whole job",
                               c, client.host_count, hosts.size())};
    }
    next_host += client.host_count;
    for (std::int32_t h = client.first_host; h < next_host; ++h) {
      Host& host = hosts[static_cast<std::size_t>(h)];
      host.client = static_cast<std::int32_t>(c);
      host.first_proc = next_proc;
      if (host.proc_count < 1 || static_cast<std::size_t>(host.proc_count) >
                                     procs.size() - static_cast<std::size_t>(next_proc)) {
        return Error{ErrorKind::kProtocol,
                     fmt::format("host {} announced {} procs; {} are described for the whole job",
                                 h, host.proc_count, procs.size())};
      }
      if (host.gateway < -1 || host.gateway >= host.proc_count) {
        return Error{ErrorKind::kProtocol,
                     fmt::format("host {} announced proc {} of {} as its gateway", h, host.gateway,
                                 host.proc_count)};
      }
      next_proc += host.proc_count;
      for (WorldRank p = host.first_proc; p < next_proc; ++p) {
        map.procs_.push_back({static_cast<std::int32_t>(c), h, procs[static_cast<std::size_t>(p)]});
      }
    }
    if (next_proc - client.first_proc != client.proc_count) {
      return Error{ErrorKind::kProtocol,
                   fmt::format("system {} announced {} procs, its hosts {}", c, client.proc_count,
                               next_proc - client.first_proc)};
    }
  }
  if (static_cast<std::size_t>(next_host) != hosts.size() ||
      static_cast<std::size_t>(next_proc) != procs.size()) {
    return Error{ErrorKind::kProtocol,
                 fmt::format("{} hosts and {} procs are described, {} and {} were announced",
                             hosts.size(), procs.size(), next_host, next_proc)};
  }
  map.by_id_.assign(std::bit_ceil(procs.size() + procs.size() / 2 + 1), -1);
  for (WorldRank rank = 0; rank < next_proc; ++rank) {
    WorldRank& slot = map.by_id_[map.slot_of(procs[static_cast<std::size_t>(rank)])];
    if (slot >= 0) {
      return Error{
          ErrorKind::kProtocol,
          fmt::format(
              "two processes share one address and pid {}: give each system an address of its own "
              "(IMPISHIM_HOST_ADDRESS)",
              procs[static_cast<std::size_t>(rank)].pid)};
    }
    slot = rank;
  }
  map.clients_ = std::move(clients);
  map.hosts_ = std::move(hosts);
  map.values_ = values;
  return map;
}

JobMap JobMap::extended(const std::vector<Client>& clients,
                        std::span<const AddedProc> procs) const {
  JobMap map = *this;
  for (const Client& each : clients) {
    Client& client = map.clients_.emplace_back(each);
    client.host_count = 0;
    client.proc_count = 0;
  }
  for (const AddedProc& each : procs) {
    Client& client = map.clients_[static_cast<std::size_t>(each.client)];
    const auto host = static_cast<std::int32_t>(map.hosts_.size());
    const WorldRank rank = map.size();
    if (client.proc_count++ == 0) {
      client.first_host = host;
      client.first_proc = rank;
    }
    ++client.host_count;
    map.hosts_.push_back({.client = each.client,
                          .address = each.address,
                          .first_proc = rank,
                          .proc_count = 1,
                          .direct = true});
    map.procs_.push_back({each.client, host, each.id});
    if (!map.node_names_.empty()) map.node_names_.push_back(each.node_name);
  }
  return map;
}

std::vector<HostId> JobMap::addresses_from(std::int32_t client, std::int32_t host) const {
  const Host& it = this->host(host);
  std::vector<HostId> addresses{
      it.client == client && it.inner_address != HostId{} ? it.inner_address : it.address};
  addresses.insert(addresses.end(), it.more_addresses.begin(), it.more_addresses.end());
  return addresses;
}

bool has_address(const Host& host, const HostId& address) {
  return same_address(host.address, address) ||
         std::ranges::any_of(host.more_addresses,
                             [&](const HostId& each) { return same_address(each, address); });
}

WorldRank JobMap::latest_rank_of(const ProcId& id) const {
  for (WorldRank rank = size() - 1; rank >= 0 && host(proc(rank).host).direct; --rank) {
    if (proc(rank).id == id) return rank;
  }
  return rank_of(id);
}

WorldRank JobMap::rank_of(const ProcId& id) const {
  return by_id_.empty() ? -1 : by_id_[slot_of(id)];
}

}  // namespace impishim::wire
