// SPDX-License-Identifier: Apache-2.0
// Scan where ranks alternate between clients: masters scan their members' operands, one range of
// consecutive ranks after another.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
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

/// A master's work: its members' operands, and the totals of all ranges up to its own last range.
class RangeScan {
 public:
  RangeScan(const Team& team, const ScanCall& call)
      : team_(team),
        call_(call),
        ranges_(ranges_of_ranks(team.membership)),
        count_(call.contribution.count),
        values_(*call.contribution.type, count_ * team.membership.spanning_ranks.size()),
        totals_(*call.contribution.type, count_ * ranges_.size()) {}

  /// Unpacks the operands of all members, scans inside each of the own ranges, and computes the
  /// totals of these ranges.
  void scan_own_ranges(std::span<const std::byte> blocks) {
    const std::size_t size = blocks.size() / team_.membership.spanning_ranks.size();
    for (std::size_t i = 0; i < team_.membership.spanning_ranks.size(); ++i)
      unpack(blocks.subspan(i * size, size), value(i));
    for (std::size_t r = 0; r < ranges_.size(); ++r) {
      if (!mine(r)) continue;
      for (std::int32_t rank = ranges_[r].first + 1; rank <= ranges_[r].last; ++rank) {
        const std::size_t i = local(rank);
        call_.operation.combine(value(i - 1).base, value(i).base, count_);
      }
      copy(value(local(ranges_[r].last)), total(r));
    }
  }

  /// Posts the own totals to all clients with later ranges, and the receives of totals from clients
  /// with earlier ranges.
  void post_totals() {
    const Segments segments(call_.contribution, team_.limits);
    const std::int32_t me = team_.membership.my_client();
    for (std::size_t r = 0; r < ranges_.size(); ++r) {
      const std::int32_t owner = ranges_[r].client;
      for (std::int32_t client = 0; client < team_.membership.client_count(); ++client) {
        if (client == owner || r > last_range(client)) continue;
        const std::int32_t master =
            team_.membership.masters[static_cast<std::size_t>(owner == me ? client : owner)];
        if (owner == me)
          post_send_segments(team_.leaders, master, kScanTotalTag, total(r), segments);
        if (client == me)
          post_receive_segments(team_.leaders, master, kScanTotalTag, total(r), segments);
      }
    }
  }

  /// Turns each member's value into its result. Call it when the totals have arrived; no message is
  /// in progress then.
  void finish() {
    for (std::size_t r = 0; r <= last_range(team_.membership.my_client()); ++r) {
      if (mine(r) && r > 0) {
        for (std::int32_t rank = ranges_[r].first; rank <= ranges_[r].last; ++rank) {
          call_.operation.combine(total(r - 1).base, value(local(rank)).base, count_);
        }
      }
      if (r > 0) call_.operation.combine(total(r - 1).base, total(r).base, count_);
    }
  }

  /// Returns the result of local member `i`. In an exclusive scan, rank 0 has none.
  [[nodiscard]] Data result(std::size_t i) const {
    if (call_.inclusive()) return value(i);
    const std::int32_t rank = team_.membership.spanning_ranks[i];
    if (rank == 0) return value(i).elements(0, 0);
    if (team_.membership.is_local(rank - 1)) return value(i - 1);
    const auto range = std::ranges::find(ranges_, rank, &ClientRange::first);
    return total(static_cast<std::size_t>(range - ranges_.begin()) - 1);
  }

 private:
  [[nodiscard]] Data value(std::size_t i) const {
    return values_.data().elements(i * count_, count_);
  }
  [[nodiscard]] Data total(std::size_t r) const {
    return totals_.data().elements(r * count_, count_);
  }
  [[nodiscard]] bool mine(std::size_t r) const {
    return ranges_[r].client == team_.membership.my_client();
  }
  [[nodiscard]] std::size_t local(std::int32_t rank) const {
    return static_cast<std::size_t>(team_.membership.local_rank(rank));
  }
  [[nodiscard]] std::size_t last_range(std::int32_t client) const {
    const auto last =
        std::ranges::find(ranges_.rbegin(), ranges_.rend(), client, &ClientRange::client);
    return static_cast<std::size_t>(ranges_.rend() - last) - 1;
  }

  const Team& team_;
  const ScanCall& call_;
  std::vector<ClientRange> ranges_;
  std::uint64_t count_;
  TypedRoom values_;  ///< indexed by local rank
  TypedRoom totals_;  ///< indexed by range
};

}  // namespace

Task scan_of_ranges(const Team& team, ScanCall call) {
  const Membership& membership = team.membership;
  const bool is_master = membership.local_rank(membership.rank) == 0;
  const PackedBlock own(call.contribution);
  const std::size_t size = own.bytes().size();
  const Bytes all(is_master ? size * membership.spanning_ranks.size() : 0);
  co_await team.local.gather(own.bytes(), all.all(), 0);
  std::vector<std::uint64_t> sizes(membership.spanning_ranks.size(), size);
  if (!call.inclusive() && membership.spanning_ranks[0] == 0) sizes[0] = 0;
  std::optional<RangeScan> work;
  if (is_master) {
    work.emplace(team, call);
    work->scan_own_ranges(all.all());
    work->post_totals();
    co_await team.leaders.all_posted();
    work->finish();
    for (std::size_t i = 0, place = 0; i < sizes.size(); place += sizes[i++]) {
      const PackedBlock result(work->result(i));
      std::ranges::copy(result.bytes(), all.all().begin() + static_cast<std::ptrdiff_t>(place));
    }
  }
  const Bytes mine(sizes[static_cast<std::size_t>(membership.local_rank(membership.rank))]);
  co_await team.local.scatterv(all.all(), sizes, mine.all(), 0);
  unpack(mine.all(), call.result);
}

}  // namespace impishim::collectives
