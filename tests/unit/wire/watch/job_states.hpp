// SPDX-License-Identifier: Apache-2.0
/// States of jobs for tests, of processes that wait for long.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "wire/monitor/process_state.hpp"
#include "wire/watch/monitor_session.hpp"

namespace impishim::wire::test {

constexpr std::uint64_t kWorld = 1;
constexpr std::uint64_t kLong = 5000;

class JobOf {
 public:
  /// Processes that are outside of MPI, all in the group kWorld.
  explicit JobOf(std::int32_t size) {
    state.size = size;
    for (std::int32_t rank = 0; rank < size; ++rank) {
      ProcessState process;
      process.rank = rank;
      process.system = rank % 2;
      process.groups = {{kWorld, "world", {{0, size - 1}}, 0, ""}};
      process.calls = {{false, false, "MPI_Init", kLong, 0, {}}};
      state.processes.push_back(std::move(process));
    }
  }
  MonitoredCall& in(std::int32_t rank, const std::string& function, std::vector<Awaited> awaited) {
    MonitoredCall& call = process(rank).calls[0];
    call = {true, false, function, kLong, static_cast<std::uint32_t>(awaited.size()), {}};
    call.awaited = std::move(awaited);
    return call;
  }
  MonitoredCall& receives(std::int32_t rank, std::int32_t peer, std::int32_t tag = 7) {
    return in(rank, "MPI_Recv", {{AwaitedKind::kReceive, peer, tag, kWorld, 0, ""}});
  }
  MonitoredCall& collects(std::int32_t rank, const std::string& function, std::uint64_t number) {
    process(rank).groups[0].begun = number;
    process(rank).groups[0].latest = function;
    return in(rank, function, {{AwaitedKind::kCollective, kAnyPeer, 0, kWorld, number, ""}});
  }
  ProcessState& process(std::int32_t rank) {
    return state.processes.at(static_cast<std::size_t>(rank));
  }

  JobState state;
};

}  // namespace impishim::wire::test
