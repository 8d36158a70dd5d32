// SPDX-License-Identifier: Apache-2.0
// Scan where each client's ranks are consecutive.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/operands.hpp"
#include "collectives/core/select.hpp"
#include "collectives/core/task.hpp"
#include "collectives/reduction/client_ranges.hpp"
#include "collectives/reduction/scan.hpp"

namespace impishim::collectives {
namespace {

/// Returns the last member of each client, in the order of clients. These members hold their
/// clients' totals.
std::vector<std::int32_t> last_members(const Membership& membership) {
  std::vector<std::int32_t> members;
  for (const ClientRange& range : ranges_of_ranks(membership)) members.push_back(range.last);
  return members;
}

/// Doubles in each round the number of clients whose totals are known. `total` becomes the total of
/// more and more clients up to this one.
Task double_totals(const Team& team, Data total, Data before, const Reduction& operation) {
  const auto members = last_members(team.membership);
  const auto me = static_cast<std::size_t>(team.membership.my_client());
  const Segments segments(total, team.limits);
  const TypedRoom room(*total.type, total.count);
  for (std::size_t distance = 1; distance < members.size(); distance <<= 1) {
    const bool receives = me >= distance;
    if (me + distance < members.size()) {
      post_send_segments(team.leaders, members[me + distance], kScanTotalTag, total, segments);
    }
    if (receives)
      post_receive_segments(team.leaders, members[me - distance], kScanTotalTag, room.data(),
                            segments);
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

/// A member's part in a scan of blocks: its position in its client, and its buffers.
class BlockScan {
 public:
  BlockScan(const Team& team, const ScanCall& call)
      : team_(team),
        call_(call),
        segments_(call.contribution, team.limits),
        sends_result_(is_last() && call.inclusive() && team.membership.my_client() == 0),
        saved_(*call.contribution.type,
               is_last() && !call.inclusive() ? call.contribution.count : 0),
        total_(*call.contribution.type, is_last() && !sends_result_ ? call.contribution.count : 0),
        before_(*call.contribution.type,
                team.membership.my_client() > 0 ? call.contribution.count : 0),
        unused_(*call.contribution.type, is_first() && !call.inclusive() ? segments_.length : 0) {
    if (is_last() && !call.inclusive())
      copy(call.contribution, saved_.data());  // an exclusive result in place overwrites it
  }

  [[nodiscard]] const Segments& segments() const { return segments_; }
  [[nodiscard]] bool is_first() const {
    return team_.membership.local_rank(team_.membership.rank) == 0;
  }
  [[nodiscard]] bool is_last() const {
    return team_.membership.local_rank(team_.membership.rank) == last();
  }
  /// Returns the rank in the client of the member that knows the total.
  [[nodiscard]] std::int32_t last() const {
    return static_cast<std::int32_t>(team_.membership.spanning_ranks.size()) - 1;
  }

  /// Starts the scan of segment `k` inside the client.
  Pending& start(std::uint64_t k) {
    const ConstData from = segments_.of(call_.contribution, k);
    if (call_.inclusive())
      return team_.local.scan(from, segments_.of(call_.result, k), call_.operation);
    // MPICH rejects a null result, although nothing is written there.
    const Data to =
        is_first() ? unused_.data().elements(0, from.count) : segments_.of(call_.result, k);
    return team_.local.exscan(from, to, call_.operation);
  }

  /// Returns the combined operands of the client for segment `k`. For the last member, after the
  /// local scan.
  Data total(std::uint64_t k) {
    const Data result = segments_.of(call_.result, k);
    if (sends_result_) return result;
    const Data total = segments_.of(total_.data(), k);
    copy(call_.inclusive() ? result : segments_.of(saved_.data(), k), total);
    if (!call_.inclusive() && !is_first())
      call_.operation.combine(result.base, total.base, total.count);
    return total;
  }

  /// Returns the combined operands of all earlier clients, for which the members of later clients
  /// wait.
  [[nodiscard]] const Data& before() const { return before_.data(); }
  [[nodiscard]] Data before(std::uint64_t k) const { return segments_.of(before_.data(), k); }
  /// Completes the result of segment `k`. Call it when before(k) is there.
  void finish(std::uint64_t k) {
    const Data result = segments_.of(call_.result, k);
    if (is_first() && !call_.inclusive()) return copy(before(k), result);
    call_.operation.combine(before(k).base, result.base, result.count);
  }

 private:
  const Team& team_;
  const ScanCall& call_;
  Segments segments_;
  bool sends_result_;  ///< the first client's result is its total, and is not changed
  TypedRoom saved_;    ///< the last member's own operand
  TypedRoom total_;
  TypedRoom before_;
  TypedRoom unused_;
};

std::vector<Operand> totals_of_earlier_clients(const Membership& membership) {
  std::vector<Operand> operands;
  const auto members = last_members(membership);
  operands.reserve(members.size());
  for (std::int32_t client = 0; client < membership.my_client(); ++client) {
    operands.push_back({members[static_cast<std::size_t>(client)], {}});
  }
  return operands;
}

/// Each later client gets this client's total, and combines the totals of all earlier ones. While a
/// segment crosses, the next ones are scanned inside the clients. All members of a client start its
/// local phases in the same order.
Task by_exchange(const Team& team, ScanCall call) {
  const Membership& membership = team.membership;
  BlockScan scan(team, call);
  const Segments& segments = scan.segments();
  const std::uint64_t number = segments.number();
  const auto members = last_members(membership);
  const auto me = static_cast<std::size_t>(membership.my_client());
  std::optional<Operands> earlier;
  if (scan.is_last() && me > 0) {
    earlier.emplace(team.leaders, kScanTotalTag, totals_of_earlier_clients(membership),
                    *call.contribution.type, segments);
  }
  std::vector<Pending*> scans;
  std::vector<Pending*> broadcasts;
  const auto scan_next = [&] {
    if (scans.size() < number) scans.push_back(&scan.start(scans.size()));
  };
  const auto send_total = [&](std::uint64_t k) {
    const Data total = scan.total(k);
    for (std::size_t later = me + 1; later < members.size(); ++later) {
      team.leaders.post_send(members[later], kScanTotalTag, ConstData(total));
    }
  };
  // A client with earlier and later clients sends all of its total first, so that no later client
  // waits for what this client waits for.
  const std::uint64_t lag =
      me + 1 < members.size() ? std::max(number, kSegmentsUnderWay) : kSegmentsUnderWay;
  for (std::uint64_t k = 0; k < kPhasesUnderWay; ++k) scan_next();
  for (std::uint64_t k = 0; k < number + lag; ++k) {
    if (k < number) {
      co_await *scans[k];
      if (scan.is_last() && me + 1 < members.size()) send_total(k);
      scan_next();
    }
    const std::uint64_t back = k - lag;
    if (me == 0 || k < lag || back >= number) continue;
    if (earlier) co_await earlier->combine(back, scan.before(), call.operation);
    broadcasts.push_back(&team.local.broadcast(scan.before(back), scan.last()));
    if (back < kPhasesUnderWay) continue;
    co_await *broadcasts[back - kPhasesUnderWay];
    scan.finish(back - kPhasesUnderWay);
  }
  const std::uint64_t sent = broadcasts.size();
  for (std::uint64_t k = sent > kPhasesUnderWay ? sent - kPhasesUnderWay : 0; k < sent; ++k) {
    co_await *broadcasts[k];
    scan.finish(k);
  }
  co_await team.leaders.all_posted();
}

/// Does the same in a logarithmic number of rounds, for whole data.
Task by_doubling(const Team& team, ScanCall call) {
  BlockScan scan(team, call);
  const std::uint64_t number = scan.segments().number();
  for (std::uint64_t k = 0; k < number; ++k) co_await scan.start(k);
  const TypedRoom total(*call.contribution.type, scan.is_last() ? call.contribution.count : 0);
  if (scan.is_last() && number > 0) {
    for (std::uint64_t k = 0; k < number; ++k)
      copy(scan.total(k), scan.segments().of(total.data(), k));
    co_await double_totals(team, total.data(), scan.before(), call.operation);
  }
  if (team.membership.my_client() == 0) co_return;
  for (std::uint64_t k = 0; k < number; ++k) {
    co_await team.local.broadcast(scan.before(k), scan.last());
    scan.finish(k);
  }
}

}  // namespace

Task scan_of_blocks(const Team& team, ScanCall call, Form form) {
  return form == Form::kDoubling ? by_doubling(team, call) : by_exchange(team, call);
}

}  // namespace impishim::collectives
