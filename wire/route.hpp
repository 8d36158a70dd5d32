/// The one place that decides who owns a channel and which process a packet goes to next.
///
/// SRC -> representative of SRC's host for DST's host -> representative of DST's host for SRC's host -> DST.
/// Hops fall away where SRC or DST is itself a representative; a route has at most three hops and always ends,
/// because each hop enters the next of these four roles.
#pragma once

#include <cstdint>

#include "wire/job_map.hpp"

namespace impishim::wire {

/// The proc of `host` that owns the channel to `remote_host`. Today each host's lowest proc owns all of them.
[[nodiscard]] inline WorldRank representative(const JobMap& job, std::int32_t host, std::int32_t remote_host) {
  static_cast<void>(remote_host);
  return job.hosts()[static_cast<std::size_t>(host)].first_proc;
}

/// How a packet leaves process `here` on its way to `destination`.
struct NextHop {
  enum class Kind : std::uint8_t {
    kArrived,  ///< `here` is the destination
    kLocal,    ///< through shared memory to `proc`, a proc of the same host
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

}  // namespace impishim::wire
