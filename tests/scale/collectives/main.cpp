// SPDX-License-Identifier: Apache-2.0
// Prints the library's collectives beside flat algorithms on 2 to 8 systems of up to 8,192
// simulated ranks.
#include <fmt/format.h>

#include "tests/scale/collectives/comparison.hpp"

namespace {

using namespace impishim::scale;

void show(std::string_view name, std::uint64_t bytes, const Shape& shape) {
  const Comparison found = compare(name, bytes, shape, NetworkTimes{});
  fmt::print("{:<10} {:>7} {:>11} {:>10} {:>10} {:>14} {:>12} {:>12} {:>16} {:>7.3f}\n", name,
             bytes, fmt::format("{} x {}", shape.systems, shape.procs_of_a_system),
             found.ours.crossings, found.ours.crossing_bytes, fmt::format("{:.0f}", found.ours.us),
             found.flat.crossings, found.flat.crossing_bytes, fmt::format("{:.0f}", found.flat.us),
             found.ours.us / found.flat.us);
}

}  // namespace

int main() {
  const NetworkTimes times;
  fmt::print(
      "LogGP: inside L {} us, o {} us, g {} us, G {} ns/B; across L {} us, o {} us, G {} ns/B on "
      "one "
      "road for each direction of two systems\n\n",
      times.local.latency, times.local.overhead, times.local.gap, 1000 * times.local.per_byte,
      times.across.latency, times.across.overhead, 1000 * times.across.per_byte);
  fmt::print("{:<10} {:>7} {:>11} {:>10} {:>10} {:>14} {:>12} {:>12} {:>16} {:>7}\n", "collective",
             "bytes", "ranks", "crossings", "bytes", "us", "flat:", "bytes", "us", "ratio");
  for (const std::string_view name : compared_collectives()) {
    for (const std::uint64_t bytes : {8ULL, 65536ULL}) {
      if (bytes > 8 && name == "barrier") continue;
      for (const std::int32_t systems : {2, 4, 8}) {
        for (const std::int32_t ranks : {64, 1024, 8192}) {
          if (ranks > 1024 && name == "alltoall") continue;  // 67 million messages
          if (ranks > 64 && bytes > 8 && (name == "alltoall" || name == "allgather")) continue;
          show(name, bytes, {systems, ranks / systems});
        }
      }
    }
  }
  return 0;
}
