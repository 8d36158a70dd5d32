#include "wire/route.hpp"

#include <algorithm>

namespace impishim::wire {
namespace {

const Host& host_of(const JobMap& job, WorldRank proc) {
  return job.hosts()[static_cast<std::size_t>(job.procs()[static_cast<std::size_t>(proc)].host)];
}

std::int32_t other_hosts(const JobMap& job) { return static_cast<std::int32_t>(job.hosts().size()) - 1; }

/// The lowest procs of a host own its channels, as many as there are other hosts; the rest are relayed for only. Where there is
/// no other host the lowest one relays among the rest.
std::int32_t relaying_procs(const JobMap& job, const Host& host) { return std::clamp(other_hosts(job), 1, host.proc_count); }

}  // namespace

std::vector<std::int32_t> hosts_represented_by(const JobMap& job, WorldRank proc) {
  const std::int32_t my_host = job.procs()[static_cast<std::size_t>(proc)].host;
  const Host& host = host_of(job, proc);
  std::vector<std::int32_t> hosts;
  for (std::int32_t ordinal = proc - host.first_proc; ordinal < other_hosts(job); ordinal += host.proc_count) {
    hosts.push_back(ordinal < my_host ? ordinal : ordinal + 1);
  }
  return hosts;
}

std::vector<WorldRank> local_partners(const JobMap& job, WorldRank proc) {
  const Host& host = host_of(job, proc);
  const std::int32_t representatives = relaying_procs(job, host);
  const bool relays = proc - host.first_proc < representatives;
  const std::int32_t partners = relays ? host.proc_count : representatives;
  std::vector<WorldRank> procs;
  for (WorldRank other = host.first_proc; other < host.first_proc + partners; ++other) {
    if (other != proc) procs.push_back(other);
  }
  return procs;
}

NextHop next_linked_hop(const JobMap& job, WorldRank here, WorldRank destination) {
  NextHop hop = next_hop(job, here, destination);
  if (hop.kind != NextHop::Kind::kLocal) return hop;
  const Host& host = host_of(job, here);
  const std::int32_t relaying = relaying_procs(job, host);
  const bool linked = here - host.first_proc < relaying || hop.proc - host.first_proc < relaying;
  if (!linked) hop.proc = host.first_proc + (destination - host.first_proc) % relaying;
  return hop;
}

}  // namespace impishim::wire
