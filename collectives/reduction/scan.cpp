// SPDX-License-Identifier: Apache-2.0
// Scan and exscan. IMPI 5.12: from rank to rank, tag 200. Own forms: collectives/README.md.
#include "collectives/reduction/scan.hpp"
#include <cstdint>

#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/select.hpp"
#include "collectives/core/task.hpp"
#include "collectives/reduction/client_ranges.hpp"

namespace impishim::collectives {

Task scan_in_chain(const Team& team, ScanCall call) {
  const std::int32_t rank = team.membership.rank;
  const std::uint64_t count = call.contribution.count;
  const bool first = rank == 0;
  const bool last = rank == team.membership.size() - 1;
  const TypedRoom before(*call.contribution.type, first ? 0 : count);
  const TypedRoom through(*call.contribution.type, count);
  if (!first) co_await team.leaders.post_receive(rank - 1, kScanTag, before.data());
  copy(call.contribution, through.data());
  if (!first) call.operation.combine(before.data().base, through.data().base, count);
  if (!last) team.leaders.post_send(rank + 1, kScanTag, through.data());
  if (call.inclusive()) {
    copy(through.data(), call.result);
  } else if (!first) {
    copy(before.data(), call.result);
  }
  co_await team.leaders.all_posted();
}

namespace {

/// Scans inside one client. The first member's result of an exclusive scan is not changed, and may
/// be null.
Task scan_inside(const Team& team, ScanCall call) {
  if (call.inclusive()) {
    co_await team.local.scan(call.contribution, call.result, call.operation);
    co_return;
  }
  // MPICH rejects a null result, although nothing is written there.
  const bool first = team.membership.local_rank(team.membership.rank) == 0;
  const TypedRoom unused(*call.contribution.type, first ? call.contribution.count : 0);
  co_await team.local.exscan(call.contribution, first ? unused.data() : call.result,
                             call.operation);
}

Task scan_or_exscan(const Team& team, ScanCall call) {
  const std::int32_t clients = team.membership.client_count();
  if (clients == 1) return scan_inside(team, call);
  const bool blocks = one_for_each_client(ranges_of_ranks(team.membership), team.membership);
  std::uint8_t has = blocks ? kInOrder : kNothing;
  if (blocks && suits_pipeline(team.membership, Segments(call.contribution, team.limits)))
    has |= kManySegments;
  const Form form =
      choose(Collective::kScan, clients, call.contribution.external_bytes(), team.limits, has);
  if (form == Form::kChain) return scan_in_chain(team, call);
  if (form == Form::kPipeline) return scan_in_pipeline(team, call);
  return blocks ? scan_of_blocks(team, call, form) : scan_of_ranges(team, call);
}

}  // namespace

Task scan(const Team& team, ConstData contribution, Data result, const Reduction& operation) {
  return scan_or_exscan(team, {contribution, result, operation, ScanKind::kInclusive});
}

Task exscan(const Team& team, ConstData contribution, Data result, const Reduction& operation) {
  return scan_or_exscan(team, {contribution, result, operation, ScanKind::kExclusive});
}

}  // namespace impishim::collectives
