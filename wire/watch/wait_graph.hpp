// SPDX-License-Identifier: Apache-2.0
/// Who waits for whom in a job, from what its processes tell, and what cannot end: cycles, and
/// collectives that do not fit each other. Values in, values out.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "wire/monitor/process_state.hpp"
#include "wire/watch/monitor_session.hpp"

namespace impishim::wire {

/// A process that is in a call counts as waiting from this age of the call on. The states of a job
/// are not of the same moment, and younger calls may have ended already.
constexpr std::chrono::milliseconds kLeastWait{1000};

/// One step of a cycle.
struct WaitStep {
  std::int32_t rank = 0;      ///< waits
  std::int32_t for_rank = 0;  ///< for this one
  std::string text;           ///< how, as "in MPI_Recv on world, for a message with tag 7"
};

struct WaitCycle {
  std::vector<WaitStep> steps;  ///< each rank waits for that of the next step
  /// False if a step is a wait for several operations, some of which may be complete already.
  bool certain = true;
};

/// Members of a communicator that have begun different collectives at the same place of their
/// order.
struct CollectiveMismatch {
  std::string group;
  std::uint64_t number = 0;                   ///< from 1
  std::map<std::string, RankList> functions;  ///< name of the function -> ranks
};

/// Members that others wait for in a collective.
struct LateMembers {
  std::string group;
  std::string function;  ///< that the others are in
  std::uint64_t number = 0;
  RankList waiting;
  RankList late;
};

struct WaitFindings {
  std::vector<WaitCycle> cycles;
  std::vector<CollectiveMismatch> mismatches;
  std::vector<LateMembers> late;
  /// Ranks that wait, through others, for a cycle or a mismatch.
  RankList behind;
  [[nodiscard]] bool stuck() const { return !cycles.empty() || !mismatches.empty(); }
};

[[nodiscard]] WaitFindings find_stuck(const JobState& state);

/// Returns the group of that number as the process knows it, or null.
[[nodiscard]] const MonitoredGroup* group_of(const ProcessState& process, std::uint64_t id);
/// Returns what a call waits for, as "MPI_Recv on world, from rank 1 with tag 7".
[[nodiscard]] std::string describe(const ProcessState& process, const MonitoredCall& call);
/// Returns the call in which the process waits: the oldest one of at least kLeastWait, if no other
/// thread of it is outside of MPI. Null if it can go on by itself.
[[nodiscard]] const MonitoredCall* waiting_call(const ProcessState& process);

}  // namespace impishim::wire
