// SPDX-License-Identifier: Apache-2.0
#include "wire/topology/route.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>
#include "wire/topology/job_map.hpp"

namespace impishim::wire {
namespace {

const Host& host_of(const JobMap& job, WorldRank proc) { return job.host(job.proc(proc).host); }

std::int32_t other_hosts(const JobMap& job) {
  return static_cast<std::int32_t>(job.hosts().size()) - 1;
}

/// Returns the number of procs of `host` that relay. The lowest procs own the channels: those whose
/// turn comes for the other hosts, and with several lanes the procs behind them. The remaining
/// procs do not relay. If there is no other host, the lowest proc relays among the others.
std::int32_t relaying_procs(const JobMap& job, const Host& host) {
  const std::int32_t hosts = other_hosts(job);
  if (hosts == 0) return 1;
  const std::int64_t owners = std::int64_t{hosts} + job.values().lanes - 1;
  return static_cast<std::int32_t>(std::min<std::int64_t>(owners, host.proc_count));
}

bool relays(const JobMap& job, const Host& host, WorldRank proc) {
  const std::int32_t index = proc - host.first_proc;
  return host.gateway >= 0 ? index == host.gateway : index < relaying_procs(job, host);
}

}  // namespace

std::vector<std::int32_t> hosts_represented_by(const JobMap& job, WorldRank proc) {
  const std::int32_t my_host = job.proc(proc).host;
  const Host& host = host_of(job, proc);
  if (host.gateway >= 0 && !relays(job, host, proc)) return {};
  const std::int32_t turns = host.gateway >= 0 ? 1 : host.proc_count;
  const std::int32_t index = host.gateway >= 0 ? 0 : proc - host.first_proc;
  std::vector<std::int32_t> hosts;
  for (std::int32_t lane = 0; lane < std::min(job.values().lanes, turns); ++lane) {
    for (std::int32_t ordinal = (index - lane + turns) % turns; ordinal < other_hosts(job);
         ordinal += turns) {
      const std::int32_t other = ordinal < my_host ? ordinal : ordinal + 1;
      if (lane < lanes_between(job, my_host, other)) hosts.push_back(other);
    }
  }
  std::ranges::sort(hosts);
  return hosts;
}

std::vector<WorldRank> local_partners(const JobMap& job, WorldRank proc) {
  const Host& host = host_of(job, proc);
  const bool relays_for_all = relays(job, host, proc);
  std::vector<WorldRank> procs;
  for (WorldRank other = host.first_proc; other < host.first_proc + host.proc_count; ++other) {
    if (other != proc && (relays_for_all || relays(job, host, other))) procs.push_back(other);
  }
  return procs;
}

NextHop next_linked_hop(const JobMap& job, WorldRank here, WorldRank source,
                        WorldRank destination) {
  NextHop hop = next_hop(job, here, source, destination);
  if (hop.kind != NextHop::Kind::kLocal) return hop;
  const Host& host = host_of(job, here);
  if (relays(job, host, here) || relays(job, host, hop.proc)) return hop;
  hop.proc = host.gateway >= 0
                 ? connecting_proc(host)
                 : host.first_proc + (destination - host.first_proc) % relaying_procs(job, host);
  return hop;
}

}  // namespace impishim::wire
