#include "wire/connect/process_name.hpp"

#include <fmt/format.h>

#include "wire/channel/address.hpp"

namespace impishim::wire {
namespace {

/// What the operating system calls it: the procs of a gateway's host have the number of their node
/// in the upper bits.
std::int64_t pid_of(const JobMap& job, const Proc& proc) {
  constexpr std::int64_t kLowerHalf = 0xffffffff;
  const Host& host = job.hosts()[static_cast<std::size_t>(proc.host)];
  const bool ours = job.clients()[static_cast<std::size_t>(proc.client)].impishim;
  return ours && host.gateway >= 0 ? proc.id.pid & kLowerHalf : proc.id.pid;
}

}  // namespace

std::string process_name(const JobMap& job, WorldRank rank) {
  const Proc& proc = job.procs()[static_cast<std::size_t>(rank)];
  // A host's name is that of the node whose address it announces; procs of a gateway may stand on
  // others.
  const bool on_that_node =
      proc.id.host == job.hosts()[static_cast<std::size_t>(proc.host)].address;
  const std::string& node = job.node_name(proc.host);
  return fmt::format("rank {} (pid {} on {})", rank, pid_of(job, proc),
                     on_that_node && !node.empty() ? node : address_text(proc.id.host));
}

std::string process_of_this_host(std::int32_t index) {
  return fmt::format("process {} of this host", index);
}

}  // namespace impishim::wire
