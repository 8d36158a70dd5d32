/// The one place that decides who owns a channel and which process a packet goes to next.
///
/// SRC -> representative of SRC's host for DST's host -> representative of DST's host for SRC's
/// host -> DST. Hops fall away where SRC or DST is itself a representative; a route has at most
/// three hops and always ends, because each hop enters the next of these four roles. The gateway of
/// a host, if it has one, is its representative for all.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "wire/topology/job_map.hpp"

namespace impishim::wire {

/// The proc of `host` that owns the channel to `remote_host`: its gateway, or else the procs of a
/// host take turns. Other hosts are counted without `host` itself, so that with a single one it is
/// the lowest proc, a master more often than any other.
[[nodiscard]] inline WorldRank representative(const JobMap& job, std::int32_t host,
                                              std::int32_t remote_host) {
  const Host& here = job.hosts()[static_cast<std::size_t>(host)];
  if (here.gateway >= 0) return here.first_proc + here.gateway;
  const std::int32_t ordinal = remote_host < host ? remote_host : remote_host - 1;
  return here.first_proc + ordinal % here.proc_count;
}

/// The hosts whose channels `proc` owns, ascending: at most the number of other hosts divided by
/// its host's procs, rounded up; all of them if it is a gateway, none if another proc of its host
/// is.
[[nodiscard]] std::vector<std::int32_t> hosts_represented_by(const JobMap& job, WorldRank proc);

/// The proc that makes a host's connections, and tells what ends it: the gateway, or else the
/// lowest.
[[nodiscard]] inline WorldRank connecting_proc(const Host& host) {
  return host.first_proc + std::max(host.gateway, 0);
}

/// The procs of its host that `proc` exchanges packets with, ascending: those that relay for it,
/// and those for which it relays. Around a gateway they are a star.
[[nodiscard]] std::vector<WorldRank> local_partners(const JobMap& job, WorldRank proc);

/// How a packet leaves process `here` on its way to `destination`.
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

/// Pure arithmetic on the job map.
[[nodiscard]] inline NextHop next_hop(const JobMap& job, WorldRank here, WorldRank destination) {
  if (here == destination) return {};
  const std::int32_t my_host = job.procs()[static_cast<std::size_t>(here)].host;
  const std::int32_t its_host = job.procs()[static_cast<std::size_t>(destination)].host;
  if (my_host == its_host) return {NextHop::Kind::kLocal, destination, its_host};
  const WorldRank owner = representative(job, my_host, its_host);
  if (owner == here) return {NextHop::Kind::kRemote, destination, its_host};
  return {NextHop::Kind::kLocal, owner, its_host};
}

/// As next_hop(), along links that exist: two procs of a host that own no channels reach each other
/// through one that does.
[[nodiscard]] NextHop next_linked_hop(const JobMap& job, WorldRank here, WorldRank destination);

}  // namespace impishim::wire
