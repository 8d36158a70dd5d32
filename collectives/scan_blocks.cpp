// Scan where each client's ranks are consecutive.
#include <algorithm>
#include <utility>

#include "collectives/operands.hpp"
#include "collectives/runs.hpp"
#include "collectives/scan.hpp"

namespace impishim::collectives {
namespace {

/// The last member of each client, in the order of clients: they hold their clients' totals.
std::vector<std::int32_t> last_members(const Shape& shape) {
  std::vector<std::int32_t> members;
  for (const Run& run : runs_of_ranks(shape)) members.push_back(run.last);
  return members;
}

/// Every later client gets this one's total; this one combines those of all earlier ones.
Task exchange_totals(const Team& team, Data total, Data before, const Reduction& operation) {
  const auto members = last_members(team.shape);
  const auto me = static_cast<std::size_t>(team.shape.my_client());
  const Segments segments(total, team.limits);
  for (std::size_t later = me + 1; later < members.size(); ++later) {
    post_send_segments(team.leaders, members[later], kScanTotalTag, total, segments);
  }
  if (me > 0) {
    std::vector<Operand> operands;
    for (std::size_t earlier = 0; earlier < me; ++earlier) operands.push_back({members[earlier], {}});
    Operands arriving(team.leaders, kScanTotalTag, operands, *total.type, segments);
    for (std::uint64_t k = 0; k < segments.number(); ++k) co_await arriving.combine(k, before, operation);
  }
  co_await team.leaders.all_posted();
}

/// In each round the known totals reach twice as far. `total` becomes that of more and more clients up to this one.
Task double_totals(const Team& team, Data total, Data before, const Reduction& operation) {
  const auto members = last_members(team.shape);
  const auto me = static_cast<std::size_t>(team.shape.my_client());
  const Segments segments(total, team.limits);
  const TypedRoom room(*total.type, total.count);
  for (std::size_t distance = 1; distance < members.size(); distance <<= 1) {
    const bool receives = me >= distance;
    if (me + distance < members.size()) {
      post_send_segments(team.leaders, members[me + distance], kScanTotalTag, total, segments);
    }
    if (receives) post_receive_segments(team.leaders, members[me - distance], kScanTotalTag, room.data(), segments);
    co_await team.leaders.all_posted();
    if (!receives) continue;
    operation.combine(room.data().base, total.base, total.count);
    if (distance == 1) {
      copy(room.data(), before);
    } else {
      operation.combine(room.data().base, before.base, before.count);
    }
  }
}

/// What the last member sends: all operands of its client combined. `saved`: its own operand, if its result is exclusive.
void make_total(const Team& team, const ScanCall& call, const Data& saved, const Data& total) {
  if (call.inclusive()) return copy(call.result, total);
  copy(saved, total);
  if (team.shape.spanning_ranks.size() > 1) call.operation.combine(call.result.base, total.base, total.count);
}

}  // namespace

Task scan_of_blocks(const Team& team, ScanCall call, Form form) {
  const Shape& shape = team.shape;
  const std::uint64_t count = call.contribution.count;
  const std::int32_t last = static_cast<std::int32_t>(shape.spanning_ranks.size()) - 1;
  const bool is_first = shape.local_rank(shape.rank) == 0;
  const bool is_last = shape.local_rank(shape.rank) == last;
  const ElementType& type = *call.contribution.type;
  const TypedRoom saved(type, is_last && !call.inclusive() ? count : 0);
  const TypedRoom total(type, is_last ? count : 0);
  const TypedRoom before(type, count);
  if (saved.data().count > 0) copy(call.contribution, saved.data());  // an exclusive result in place overwrites it
  co_await scan_inside(team, call);
  if (is_last && count > 0) {
    make_total(team, call, saved.data(), total.data());
    if (form == Form::kDoubling) {
      co_await double_totals(team, total.data(), before.data(), call.operation);
    } else {
      co_await exchange_totals(team, total.data(), before.data(), call.operation);
    }
  }
  if (shape.my_client() == 0) co_return;
  co_await team.local.broadcast(before.data(), last);
  if (is_first && !call.inclusive()) {
    copy(before.data(), call.result);
  } else {
    call.operation.combine(before.data().base, call.result.base, count);
  }
}

}  // namespace impishim::collectives
