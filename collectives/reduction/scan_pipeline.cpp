// SPDX-License-Identifier: Apache-2.0
// Scan of long data where each client's ranks are consecutive: segments travel from rank to rank.
#include <cstdint>
#include <vector>

#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/operands.hpp"
#include "collectives/core/select.hpp"
#include "collectives/core/task.hpp"
#include "collectives/reduction/scan.hpp"

namespace impishim::collectives {
namespace {

/// A rank's part in a pipeline of an inclusive scan. The sum of all ranks up to this one is this
/// rank's result, and what the next rank waits for.
Task inclusive_pipeline(const Team& team, ScanCall call, Segments segments) {
  const std::int32_t rank = team.membership.rank;
  const bool last = rank == team.membership.size() - 1;
  if (rank == 0) {
    post_send_segments(team.leaders, 1, kScanTotalTag, call.contribution, segments);
    copy(call.contribution, call.result);
    co_await team.leaders.all_posted();
    co_return;
  }
  Operands operands(team.leaders, kScanTotalTag, {{rank - 1, {}}, {-1, call.result}},
                    *call.contribution.type, segments);
  for (std::uint64_t k = 0; k < segments.number(); ++k) {
    copy(segments.of(call.contribution, k), segments.of(call.result, k));
    co_await operands.combine(k, call.result, call.operation);
    if (!last)
      team.leaders.post_send(rank + 1, kScanTotalTag, ConstData(segments.of(call.result, k)));
  }
  co_await team.leaders.all_posted();
}

/// A rank's part in a pipeline of an exclusive scan. What arrives is the result, and the next rank
/// waits for its sum with this rank's operand.
Task exclusive_pipeline(const Team& team, ScanCall call, Segments segments) {
  const std::int32_t rank = team.membership.rank;
  const bool last = rank == team.membership.size() - 1;
  if (rank == 0) {
    post_send_segments(team.leaders, 1, kScanTotalTag, call.contribution, segments);
    co_await team.leaders.all_posted();
    co_return;
  }
  const TypedRoom through(*call.contribution.type, last ? 0 : call.contribution.count);
  std::vector<Pending*> receives;
  const auto post_receive = [&] {
    const std::uint64_t k = receives.size();
    if (k == segments.number()) return;
    // In place, the segment that arrives overwrites the operand.
    if (!last) copy(segments.of(call.contribution, k), segments.of(through.data(), k));
    receives.push_back(
        &team.leaders.post_receive(rank - 1, kScanTotalTag, segments.of(call.result, k)));
  };
  for (std::uint64_t k = 0; k < kSegmentsUnderWay; ++k) post_receive();
  for (std::uint64_t k = 0; k < segments.number(); ++k) {
    co_await *receives[k];
    post_receive();
    if (last) continue;
    const Data sum = segments.of(through.data(), k);
    call.operation.combine(segments.of(call.result, k).base, sum.base, sum.count);
    team.leaders.post_send(rank + 1, kScanTotalTag, ConstData(sum));
  }
  co_await team.leaders.all_posted();
}

}  // namespace

Task scan_in_pipeline(const Team& team, ScanCall call) {
  const Segments segments(call.contribution, team.limits);
  return call.inclusive() ? inclusive_pipeline(team, call, segments)
                          : exclusive_pipeline(team, call, segments);
}

bool suits_pipeline(const Membership& membership, const Segments& segments) {
  return segments.number() >= static_cast<std::uint64_t>(membership.size());
}

}  // namespace impishim::collectives
