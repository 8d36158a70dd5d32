// SPDX-License-Identifier: Apache-2.0
// Prints what a process keeps in jobs of 10,000 hosts with 32 processes each, over 2 to 8 systems.
#include <fmt/format.h>

#include <cstdio>

#include "tests/scale/simulation.hpp"

int main() {
  using namespace impishim::wire::test;
  constexpr std::size_t kRoutes = 500'000;
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
        figures.connections_of_a_host, static_cast<double>(figures.routing_bytes) / (1U << 20U),
        percent(1), percent(2), percent(3), figures.balance);
  }
  return 0;
}
