// SPDX-License-Identifier: Apache-2.0
/// Routing: the only code that decides which process owns a channel and which process is a packet's
/// next hop.
///
/// Two hosts have one or more channels, their *lanes*. Each lane has an owner in each of the hosts,
/// and a proc owns at most one lane to each remote host. The packets of one proc to one host all
/// use the same lane, so they never overtake each other.
///
/// The owner of a lane is the *representative* of its host for that lane. A packet goes from SRC to
/// the representative of SRC's host, then to the representative of DST's host, both of SRC's lane,
/// and then to DST. A hop disappears if SRC or DST is itself a representative. A route has at most
/// three hops and always ends, because each hop moves to the next of these four roles. If a host
/// has a gateway, the gateway represents it on its only lane to each other host. Processes of
/// another job (Host::direct) are no hosts in this sense: each process has its own channels to
/// them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "wire/topology/job_map.hpp"

namespace impishim::wire {

/// Returns the number of channels between two hosts. It is 1 for gateways and for hosts of other
/// implementations, since IMPI knows one channel.
[[nodiscard]] inline std::int32_t lanes_between(const JobMap& job, std::int32_t host,
                                                std::int32_t other) {
  const std::int32_t lanes = job.values().lanes;
  if (lanes == 1) return 1;
  const Host& a = job.host(host);
  const Host& b = job.host(other);
  if (a.gateway >= 0 || b.gateway >= 0 || !job.client(a.client).impishim ||
      !job.client(b.client).impishim)
    return 1;
  return std::min({lanes, a.proc_count, b.proc_count});
}

/// Returns the proc of `host` that owns `lane` to `remote_host`: the gateway, or otherwise one of
/// the host's procs in turn. The numbering of other hosts skips `host` itself. With a single other
/// host, the owner of the first lane is the lowest proc, which is more often a master than any
/// other.
[[nodiscard]] inline WorldRank representative(const JobMap& job, std::int32_t host,
                                              std::int32_t remote_host, std::int32_t lane) {
  const Host& here = job.host(host);
  if (here.gateway >= 0) return here.first_proc + here.gateway;
  const std::int32_t ordinal = remote_host < host ? remote_host : remote_host - 1;
  return here.first_proc + (ordinal + lane) % here.proc_count;
}

/// Returns the lane that the packets of `source` use to `remote_host`. The owner of a lane uses its
/// own.
[[nodiscard]] inline std::int32_t lane_of(const JobMap& job, WorldRank source,
                                          std::int32_t remote_host) {
  const std::int32_t host = job.proc(source).host;
  const std::int32_t lanes = lanes_between(job, host, remote_host);
  if (lanes == 1) return 0;
  const Host& here = job.host(host);
  const std::int32_t ordinal = remote_host < host ? remote_host : remote_host - 1;
  const std::int32_t turn = ordinal % here.proc_count;
  return (source - here.first_proc - turn + here.proc_count) % here.proc_count % lanes;
}

/// Returns the proc of `source`'s host that sends the packets of `source` to `remote_host`.
[[nodiscard]] inline WorldRank sending_representative(const JobMap& job, WorldRank source,
                                                      std::int32_t remote_host) {
  return representative(job, job.proc(source).host, remote_host, lane_of(job, source, remote_host));
}

/// Returns the proc of `host`, another host, that receives the packets of `source`.
[[nodiscard]] inline WorldRank receiving_representative(const JobMap& job, WorldRank source,
                                                        std::int32_t host) {
  return representative(job, host, job.proc(source).host, lane_of(job, source, host));
}

/// Returns the hosts to which `proc` owns a channel, ascending. With one lane, their number is at
/// most the number of other hosts divided by the number of procs of this host, rounded up. A
/// gateway owns all channels; the other procs of its host own none.
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

/// Returns the next hop of a packet of `source` at `here`, which is `source`, one of its two
/// relays, or `destination`. Pure arithmetic on the job map.
[[nodiscard]] inline NextHop next_hop(const JobMap& job, WorldRank here, WorldRank source,
                                      WorldRank destination) {
  if (here == destination) return {};
  const std::int32_t my_host = job.proc(here).host;
  const std::int32_t its_host = job.proc(destination).host;
  if (my_host == its_host) return {NextHop::Kind::kLocal, destination, its_host};
  if (job.host(its_host).direct) return {NextHop::Kind::kRemote, destination, its_host};
  const WorldRank owner = sending_representative(job, source, its_host);
  if (owner == here) return {NextHop::Kind::kRemote, destination, its_host};
  return {NextHop::Kind::kLocal, owner, its_host};
}

/// Returns the next hop along existing links. Unlike next_hop(), two procs of a host that own no
/// channels reach each other through a proc that does.
[[nodiscard]] NextHop next_linked_hop(const JobMap& job, WorldRank here, WorldRank source,
                                      WorldRank destination);

}  // namespace impishim::wire
