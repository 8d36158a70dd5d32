// SPDX-License-Identifier: Apache-2.0
// Prints what a process keeps, and what startup takes: in jobs of 10,000 hosts with 32 processes
// each over 2 to 8 systems, and in jobs of any size with hosts by the size of the job.
#include <fmt/format.h>

#include <cstdio>

#include "tests/scale/job_cost.hpp"
#include "tests/scale/simulation.hpp"

namespace {

using namespace impishim::wire::test;

constexpr std::size_t kRoutes = 500'000;
constexpr double kMebi = 1U << 20U;
constexpr double kKibi = 1U << 10U;

void show_large_hosts() {
  fmt::print("10,000 hosts of 32 processes; {} routes between processes of different systems\n\n",
             kRoutes);
  fmt::print("{:>7} {:>9} {:>12} {:>13} {:>16} {:>14} {:>21} {:>14}\n", "systems", "processes",
             "local queues", "remote queues", "connections/host", "routing memory",
             "1 / 2 / 3 hops, %", "most / mean");
  for (const int systems : {2, 3, 4, 5, 6, 7, 8}) {
    const ScaleFigures figures = simulate({systems, 10000, 32}, kRoutes);
    const auto percent = [&](std::size_t hops) {
      return 100.0 * static_cast<double>(figures.routes[hops]) / kRoutes;
    };
    fmt::print(
        "{:>7} {:>9} {:>12} {:>13} {:>16} {:>10.1f} MiB {:>7.1f} {:>6.1f} {:>6.1f} {:>14.3f}\n",
        systems, figures.procs, figures.local_queues,
        fmt::format("{}-{}", figures.fewest_remote_queues, figures.remote_queues),
        figures.connections_of_a_host, static_cast<double>(figures.routing_bytes) / kMebi,
        percent(1), percent(2), percent(3), figures.balance);
  }
}

void show_hosts_by_size() {
  fmt::print(
      "\nIMPISHIM_HOST_PROCS=auto, IMPISHIM_MAX_CHANNELS=64, nodes of 32 processes: most of a "
      "process; startup of a system at the server\n\n");
  fmt::print(
      "{:>16} {:>10} {:>8} {:>11} {:>11} {:>12} {:>12} {:>12} {:>9} | {:>11} {:>9} {:>9} {:>9}\n",
      "processes", "of a host", "channels", "local links", "descriptors", "routing, KiB",
      "engine, KiB", "rings, MiB", "relayed", "round trips", "sent, KiB", "got, KiB", "map, KiB");
  for (const int each : {1, 4, 32, 64, 65, 256, 1024, 4096, 16384, 160000}) {
    const JobSize size{.procs_of_a_system = each};
    const JobCost cost = cost_of(size, kRoutes / 10);
    const StartupCost startup = startup_of(size);
    fmt::print(
        "{:>16} {:>10} {:>8} {:>11} {:>11} {:>12.1f} {:>12.1f} {:>12.1f} {:>7.1f} % | {:>11} "
        "{:>9.1f} "
        "{:>9.1f} {:>9.1f}\n",
        fmt::format("2 x {}", each), cost.host_procs, cost.channels, cost.local_links,
        cost.descriptors, static_cast<double>(cost.routing_bytes) / kKibi,
        static_cast<double>(cost.channel_bytes) / kKibi,
        static_cast<double>(cost.ring_bytes) / kMebi, 100 * cost.relayed, startup.round_trips,
        static_cast<double>(startup.sent) / kKibi, static_cast<double>(startup.received) / kKibi,
        static_cast<double>(startup.broadcast) / kKibi);
  }
}

void show_lanes() {
  fmt::print("\nIMPISHIM_LANES, nodes of 32 processes: most of a process; mean of the routes\n\n");
  fmt::print("{:>10} {:>6} {:>10} {:>8} {:>11} {:>12} {:>10} {:>6}\n", "processes", "lanes",
             "of a host", "channels", "local links", "engine, KiB", "rings, MiB", "hops");
  for (const int each : {256, 1024, 4096, 160000}) {
    for (const int lanes : {1, 4, 32}) {
      const JobCost cost = cost_of({.procs_of_a_system = each, .lanes = lanes}, kRoutes / 10);
      fmt::print("{:>10} {:>6} {:>10} {:>8} {:>11} {:>12.1f} {:>10.1f} {:>6.2f}\n",
                 fmt::format("2 x {}", each), lanes, cost.host_procs, cost.channels,
                 cost.local_links, static_cast<double>(cost.channel_bytes) / kKibi,
                 static_cast<double>(cost.ring_bytes) / kMebi, cost.hops);
    }
  }
}

}  // namespace

int main() {
  show_large_hosts();
  show_hosts_by_size();
  show_lanes();
  return 0;
}
