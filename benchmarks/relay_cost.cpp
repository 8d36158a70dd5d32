// SPDX-License-Identifier: Apache-2.0
// Passes 8 B messages on through a relay, for a profiler that counts instructions:
//   valgrind --tool=callgrind --collect-atstart=no --toggle-collect='*poll_relay*' relay_cost
// Two hops, rank 1 by rank 0 to rank 2, in one thread. The channels are memory, so that their cost
// (MemoryChannel::try_send and try_receive) stands for the kernel's and is to be subtracted.
#include <fmt/format.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tests/unit/wire/engine/simulated_job.hpp"

namespace {

using impishim::wire::test::SimulatedJob;

constexpr int kMessages = 10'000;

/// What the profiler counts.
[[gnu::noinline]] void poll_relay(SimulatedJob& job) { job.engine(0).poll(false); }

void pass_on(SimulatedJob& job, std::int32_t tag) {
  impishim::wire::test::Receive receive(job, 2, 1, tag, 8);
  const impishim::wire::test::Send send(job, 1, 2, tag, std::vector<std::byte>(8));
  while (!receive.complete()) {
    job.engine(1).poll(true);
    poll_relay(job);
    job.engine(2).poll(true);
  }
}

}  // namespace

int main() {
  SimulatedJob job({.procs_of_hosts = {{2}, {1}}});
  for (int message = 0; message < kMessages; ++message) pass_on(job, message);
  fmt::print("{} messages passed on\n", kMessages);
  return 0;
}
