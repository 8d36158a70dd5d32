// SPDX-License-Identifier: Apache-2.0
#include "collectives/reduction/client_ranges.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>
#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/task.hpp"

namespace impishim::collectives {

std::vector<ClientRange> ranges_of_ranks(const Membership& membership) {
  std::vector<ClientRange> ranges;
  for (std::int32_t rank = 0; rank < membership.size(); ++rank) {
    const std::int32_t client = membership.client_of(rank);
    if (ranges.empty() || ranges.back().client != client) ranges.push_back({client, rank, rank});
    ranges.back().last = rank;
  }
  return ranges;
}

std::vector<ClientRange> ranges_for(const Membership& membership, const Reduction& operation) {
  if (!operation.commutative()) return ranges_of_ranks(membership);
  std::vector<ClientRange> ranges;
  for (std::int32_t client = 0; client < membership.client_count(); ++client) {
    const std::int32_t master = membership.masters[static_cast<std::size_t>(client)];
    ranges.push_back({client, master, master});
  }
  return ranges;
}

bool one_for_each_client(const std::vector<ClientRange>& ranges, const Membership& membership) {
  return ranges.size() == membership.masters.size();
}

std::uint64_t number_of_ranges(const std::vector<ClientRange>& ranges, std::int32_t client) {
  return static_cast<std::uint64_t>(std::ranges::count(ranges, client, &ClientRange::client));
}

namespace {

/// Combines the blocks of each range of this client, which lie packed in rank order.
void combine_ranges(const Membership& membership, const std::vector<ClientRange>& ranges,
                    std::span<const std::byte> blocks, std::size_t size, const Data& results,
                    const Reduction& operation) {
  const std::uint64_t count = results.count / number_of_ranges(ranges, membership.my_client());
  const TypedRoom operand(*results.type, count);
  std::uint64_t place = 0;
  for (const ClientRange& range : ranges) {
    if (range.client != membership.my_client()) continue;
    const Data sum = results.elements(place, count);
    place += count;
    for (std::int32_t rank = range.last; rank >= range.first; --rank) {
      const auto block =
          blocks.subspan(static_cast<std::size_t>(membership.local_rank(rank)) * size, size);
      unpack(block, rank == range.last ? sum : operand.data());
      if (rank != range.last) operation.combine(operand.data().base, sum.base, count);
    }
  }
}

}  // namespace

Task reduce_ranges(const Team& team, const std::vector<ClientRange>& ranges, ConstData contribution,
                   Data results, const Reduction& operation, std::int32_t speaker) {
  const Membership& membership = team.membership;
  if (number_of_ranges(ranges, membership.my_client()) == 1) {
    // The local group keeps the order of ranks for operations that need it.
    co_await team.local.reduce(contribution, results, operation, membership.local_rank(speaker));
    co_return;
  }
  const PackedBlock own(contribution);
  const std::size_t size = own.bytes().size();
  const Bytes all(membership.rank == speaker ? size * membership.spanning_ranks.size() : 0);
  co_await team.local.gather(own.bytes(), all.all(), membership.local_rank(speaker));
  if (membership.rank == speaker)
    combine_ranges(membership, ranges, all.all(), size, results, operation);
}

std::vector<std::int32_t> member_counts(const Membership& membership) {
  std::vector<std::int32_t> counts(membership.masters.size(), 0);
  for (const std::int32_t client : membership.master_of) ++counts[static_cast<std::size_t>(client)];
  return counts;
}

std::vector<std::int32_t> nth_members(const Membership& membership, std::int32_t n) {
  std::vector<std::int32_t> members(membership.masters.size(), -1);
  std::vector<std::int32_t> seen(membership.masters.size(), 0);
  for (std::int32_t rank = 0; rank < membership.size(); ++rank) {
    const auto client = static_cast<std::size_t>(membership.client_of(rank));
    if (seen[client]++ == n) members[client] = rank;
  }
  return members;
}

}  // namespace impishim::collectives
