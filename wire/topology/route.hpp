// SPDX-License-Identifier: Apache-2.0
/// Routing: the only code that decides which process owns a channel and which process is a packet's
/// next hop.
///
/// A route is: SRC -> representative of SRC's host for DST's host -> representative of DST's host
/// for SRC's host -> DST. A hop disappears if SRC or DST is itself a representative. A route has at
/// most three hops and always ends, because each hop moves to the next of these four roles. If a
/// host has a gateway, the gateway is its representative for all other hosts. Processes of another
/// job (Host::direct) are no hosts in this sense: each process has its own channels to them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "wire/topology/job_map.hpp"

namespace impishim::wire {

/// Returns the proc of `host` that owns the channel to `remote_host`: the gateway, or otherwise one
/// of the host's procs in turn. The numbering of other hosts skips `host` itself. With a single
/// other host, the owner is the lowest proc, which is more often a master than any other.
[[nodiscard]] inline WorldRank representative(const JobMap& job, std::int32_t host,
                                              std::int32_t remote_host) {
  const Host& here = job.host(host);
  if (here.gateway >= 0) return here.first_proc + here.gateway;
  const std::int32_t ordinal = remote_host < host ? remote_host : remote_host - 1;
  return here.first_proc + ordinal % here.proc_count;
}

/// Returns the hosts whose channels `proc` owns, ascending. Their number is at most the number of
/// other hosts divided by the number of procs of this host, rounded up. A gateway owns all
/// channels; the other procs of its host own none.
[[nodiscard]] std::vector<std::int32_t> hosts_represented_by(const JobMap& job, WorldRank proc);

/// Returns the proc that makes a host's connections and reports what ends them: the gateway, or
/// otherwise the lowest proc.
[[nodiscard]] inline WorldRank connecting_proc(const Host& host) {
  return host.first_proc + std::max(host.gateway, 0);
}

/// Returns the procs of the same host that exchange packets with `proc`, ascending: those that
/// relay for it, and those for which it relays. Around a gateway these links form a star.
[[nodiscard]] std::vector<WorldRank> local_partners(const JobMap& job, WorldRank proc);

/// The way in which a packet leaves process `here` towards `destination`.
struct NextHop {
  enum class Kind : std::uint8_t {
    kArrived,  ///< `here` is the destination
    kLocal,    ///< to `proc`, a proc of the same host
    kRemote,   ///< over the channel to `host`, which `here` owns
  };
  Kind kind = Kind::kArrived;
  WorldRank proc = 0;
  std::int32_t host = 0;
};

/// Returns the next hop of a packet at `here`. Pure arithmetic on the job map.
[[nodiscard]] inline NextHop next_hop(const JobMap& job, WorldRank here, WorldRank destination) {
  if (here == destination) return {};
  const std::int32_t my_host = job.proc(here).host;
  const std::int32_t its_host = job.proc(destination).host;
  if (my_host == its_host) return {NextHop::Kind::kLocal, destination, its_host};
  if (job.host(its_host).direct) return {NextHop::Kind::kRemote, destination, its_host};
  const WorldRank owner = representative(job, my_host, its_host);
  if (owner == here) return {NextHop::Kind::kRemote, destination, its_host};
  return {NextHop::Kind::kLocal, owner, its_host};
}

/// Returns the next hop along existing links. Unlike next_hop(), two procs of a host that own no
/// channels reach each other through a proc that does.
[[nodiscard]] NextHop next_linked_hop(const JobMap& job, WorldRank here, WorldRank destination);

}  // namespace impishim::wire
