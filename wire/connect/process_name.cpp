// SPDX-License-Identifier: Apache-2.0
#include "wire/connect/process_name.hpp"

#include <fmt/format.h>
#include <cstdint>
#include <string>

#include "wire/channel/address.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {
namespace {

/// Returns the pid that the operating system uses. For procs of a host with a gateway, the
/// announced pid contains the number of the node in the upper bits.
std::int64_t pid_of(const JobMap& job, const Proc& proc) {
  constexpr std::int64_t kLowerHalf = 0xffffffff;
  const Host& host = job.host(proc.host);
  const bool ours = job.client(proc.client).impishim;
  return ours && host.gateway >= 0 ? proc.id.pid & kLowerHalf : proc.id.pid;
}

}  // namespace

std::string process_name(const JobMap& job, WorldRank rank) {
  const Proc& proc = job.proc(rank);
  // The node name of a host belongs to the node whose address the host announces. Procs of a
  // gateway may run on other nodes.
  const bool on_that_node = proc.id.host == job.host(proc.host).address;
  const std::string& node = job.node_name(proc.host);
  return fmt::format("rank {} (pid {} on {})", rank, pid_of(job, proc),
                     on_that_node && !node.empty() ? node : address_text(proc.id.host));
}

std::string process_of_this_host(std::int32_t index) {
  return fmt::format("process {} of this host", index);
}

}  // namespace impishim::wire
