// SPDX-License-Identifier: Apache-2.0
// Reduce_scatter. IMPI 5.11: Reduce to rank 0, then Scatterv. Own form: collectives/README.md.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "collectives/collectives.hpp"
#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/operands.hpp"
#include "collectives/core/select.hpp"
#include "collectives/core/task.hpp"
#include "collectives/movement/scatter_parts.hpp"
#include "collectives/reduction/client_ranges.hpp"

namespace impishim::collectives {
namespace {

Task inside_one_client(const Team& team, ConstData contribution, Data result,
                       std::span<const std::uint64_t> counts, const Reduction& operation) {
  const TypedRoom part(*result.type, result.count);
  co_await team.local.reduce_scatter(contribution, part.data(), counts, operation);
  copy(part.data(), result);
}

Task rooted(const Team& team, ConstData contribution, Data result,
            std::span<const std::uint64_t> counts, const Reduction& operation) {
  const TypedRoom total(*contribution.type, team.membership.rank == 0 ? contribution.count : 0);
  co_await reduce(team, contribution, total.data(), operation, 0);
  co_await scatter_parts(team, total.data(), result, counts, 0);
}

/// The elements that consecutive ranks of one client get.
struct Range {
  std::int32_t client = 0;
  std::uint64_t begin = 0;
  std::uint64_t count = 0;
};

std::vector<Range> ranges_of(const Membership& membership, std::span<const std::uint64_t> counts) {
  std::vector<Range> ranges;
  std::uint64_t begin = 0;
  for (const ClientRange& client_range : ranges_of_ranks(membership)) {
    const auto first = counts.begin() + client_range.first;
    const auto count =
        std::accumulate(first, counts.begin() + client_range.last + 1, std::uint64_t{0});
    ranges.push_back({client_range.client, begin, count});
    begin += count;
  }
  return ranges;
}

/// The masters' side. The data that a client's members need goes only to its master, which combines
/// it. Between two masters segments travel in ascending order of ranges.
class Swap {
 public:
  /// `partials` holds this client's results one after another, one for each of its `client_ranges`.
  /// Each has all elements.
  Swap(const Team& team, const std::vector<ClientRange>& client_ranges,
       const std::vector<Range>& ranges, const Data& partials)
      : team_(team),
        client_ranges_(client_ranges),
        ranges_(ranges),
        partials_(partials),
        segments_(partials, team.limits) {
    whole_ = partials.count / number_of_ranges(client_ranges, team.membership.my_client());
  }

  /// Starts sending segment `k` of a range that another client needs.
  void send(const Range& range, std::uint64_t k) {
    const std::int32_t to = team_.membership.masters[static_cast<std::size_t>(range.client)];
    const Segments segments(range.count, segments_);
    for (std::uint64_t client_range = 0; client_range * whole_ < partials_.count; ++client_range) {
      team_.leaders.post_send(to, kReduceScatterTag, segments.of(part(client_range, range), k));
    }
  }

  /// Writes the totals of the own client's parts to `mine`, one range after another.
  Task receive(Data mine, const Reduction& operation) {
    std::uint64_t place = 0;
    for (const Range& range : ranges_) {
      if (range.client != team_.membership.my_client()) continue;
      const Segments segments(range.count, segments_);
      Operands operands(team_.leaders, kReduceScatterTag, operands_of(range), *mine.type, segments);
      const Data target = mine.elements(place, range.count);
      for (std::uint64_t k = 0; k < segments.number(); ++k)
        co_await operands.combine(k, target, operation);
      place += range.count;
    }
  }

 private:
  [[nodiscard]] Data part(std::uint64_t client_range, const Range& range) const {
    return partials_.elements(client_range * whole_ + range.begin, range.count);
  }
  [[nodiscard]] std::vector<Operand> operands_of(const Range& range) const {
    std::vector<Operand> operands;
    std::uint64_t next_own = 0;
    for (const ClientRange& client_range : client_ranges_) {
      if (client_range.client == team_.membership.my_client()) {
        operands.push_back({-1, part(next_own++, range)});
      } else {
        operands.push_back(
            {team_.membership.masters[static_cast<std::size_t>(client_range.client)], {}});
      }
    }
    return operands;
  }

  const Team& team_;
  const std::vector<ClientRange>& client_ranges_;
  const std::vector<Range>& ranges_;
  Data partials_;
  Segments segments_;
  std::uint64_t whole_ = 0;
};

/// Returns the ranges of other clients, starting with the next client so that not all send to the
/// same one, and then the own ranges.
std::vector<Range> in_order_of_sending(const Membership& membership, std::vector<Range> ranges) {
  const auto distance = [&](const Range& range) {
    const std::int32_t clients = membership.client_count();
    return (range.client - membership.my_client() - 1 + clients) % clients;
  };
  std::ranges::stable_sort(ranges, {}, distance);
  return ranges;
}

/// For one result per client: reduces first what other clients need, and sends it while the next
/// segments are reduced.
Task reduce_and_send(const Team& team, const std::vector<Range>& ranges, ConstData contribution,
                     Data partial, const Reduction& operation, Swap* swap) {
  struct Step {
    Range range;
    std::uint64_t k = 0;
    Pending* reduced = nullptr;
  };
  const Segments like(contribution, team.limits);
  std::vector<Step> steps;
  for (const Range& range : in_order_of_sending(team.membership, ranges)) {
    for (std::uint64_t k = 0; k < Segments(range.count, like).number(); ++k)
      steps.push_back({range, k});
  }
  std::size_t started = 0;
  const auto reduce_next = [&] {
    if (started == steps.size()) return;
    Step& step = steps[started++];
    const Segments segments(step.range.count, like);
    const ConstData from =
        segments.of(contribution.elements(step.range.begin, step.range.count), step.k);
    const Data to = swap == nullptr
                        ? Data()
                        : segments.of(partial.elements(step.range.begin, step.range.count), step.k);
    step.reduced = &team.local.reduce(from, to, operation, 0);
  };
  for (std::uint64_t i = 0; i < kPhasesUnderWay; ++i) reduce_next();
  for (const Step& step : steps) {
    co_await *step.reduced;
    if (swap != nullptr && step.range.client != team.membership.my_client())
      swap->send(step.range, step.k);
    reduce_next();
  }
}

/// For several results of some clients: reduces everything, then sends.
Task reduce_then_send(const Team& team, const std::vector<ClientRange>& client_ranges,
                      const std::vector<Range>& ranges, ConstData contribution, Data partials,
                      const Reduction& operation, Swap* swap) {
  const Membership& membership = team.membership;
  const Segments like(contribution, team.limits);
  co_await reduce_ranges(team, client_ranges, contribution, partials, operation,
                         membership.masters[static_cast<std::size_t>(membership.my_client())]);
  if (swap == nullptr) co_return;
  for (const Range& range : ranges) {
    if (range.client == membership.my_client()) continue;
    for (std::uint64_t k = 0; k < Segments(range.count, like).number(); ++k) swap->send(range, k);
  }
}

Task exchange(const Team& team, ConstData contribution, Data result,
              std::span<const std::uint64_t> counts, const Reduction& operation) {
  const Membership& membership = team.membership;
  const bool is_master = membership.local_rank(membership.rank) == 0;
  const auto client_ranges = ranges_for(membership, operation);
  const auto ranges = ranges_of(membership, counts);
  std::vector<std::uint64_t> local_counts;
  for (const std::int32_t rank : membership.spanning_ranks)
    local_counts.push_back(counts[static_cast<std::size_t>(rank)]);
  const std::uint64_t mine_count =
      std::accumulate(local_counts.begin(), local_counts.end(), std::uint64_t{0});
  const TypedRoom partials(
      *contribution.type,
      is_master ? contribution.count * number_of_ranges(client_ranges, membership.my_client()) : 0);
  const TypedRoom mine(*contribution.type, is_master ? mine_count : 0);
  std::optional<Swap> masters;
  if (is_master) masters.emplace(team, client_ranges, ranges, partials.data());
  Swap* const swap = is_master ? &*masters : nullptr;
  if (one_for_each_client(client_ranges, membership)) {
    co_await reduce_and_send(team, ranges, contribution, partials.data(), operation, swap);
  } else {
    co_await reduce_then_send(team, client_ranges, ranges, contribution, partials.data(), operation,
                              swap);
  }
  if (is_master) co_await swap->receive(mine.data(), operation);
  co_await scatter_locally(team, mine.data(), result, local_counts);
  co_await team.leaders.all_posted();
}

}  // namespace

Task reduce_scatter(const Team& team, ConstData contribution, Data result,
                    std::span<const std::uint64_t> counts, const Reduction& operation) {
  const std::int32_t clients = team.membership.client_count();
  if (clients == 1) return inside_one_client(team, contribution, result, counts, operation);
  const Form form =
      choose(Collective::kReduceScatter, clients, contribution.external_bytes(), team.limits);
  return form == Form::kRooted ? rooted(team, contribution, result, counts, operation)
                               : exchange(team, contribution, result, counts, operation);
}

}  // namespace impishim::collectives
