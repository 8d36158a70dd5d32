// SPDX-License-Identifier: Apache-2.0
#include "collectives/reduction/runs.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>
#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/task.hpp"

namespace impishim::collectives {

std::vector<Run> runs_of_ranks(const Shape& shape) {
  std::vector<Run> runs;
  for (std::int32_t rank = 0; rank < shape.size(); ++rank) {
    const std::int32_t client = shape.client_of(rank);
    if (runs.empty() || runs.back().client != client) runs.push_back({client, rank, rank});
    runs.back().last = rank;
  }
  return runs;
}

std::vector<Run> runs_for(const Shape& shape, const Reduction& operation) {
  if (!operation.commutative()) return runs_of_ranks(shape);
  std::vector<Run> runs;
  for (std::int32_t client = 0; client < shape.client_count(); ++client) {
    const std::int32_t master = shape.masters[static_cast<std::size_t>(client)];
    runs.push_back({client, master, master});
  }
  return runs;
}

bool one_for_each_client(const std::vector<Run>& runs, const Shape& shape) {
  return runs.size() == shape.masters.size();
}

std::uint64_t runs_of(const std::vector<Run>& runs, std::int32_t client) {
  return static_cast<std::uint64_t>(std::ranges::count(runs, client, &Run::client));
}

namespace {

/// Combines the blocks of each run of this client, which lie packed in rank order.
void combine_runs(const Shape& shape, const std::vector<Run>& runs,
                  std::span<const std::byte> blocks, std::size_t size, const Data& results,
                  const Reduction& operation) {
  const std::uint64_t count = results.count / runs_of(runs, shape.my_client());
  const TypedRoom operand(*results.type, count);
  std::uint64_t place = 0;
  for (const Run& run : runs) {
    if (run.client != shape.my_client()) continue;
    const Data sum = results.elements(place, count);
    place += count;
    for (std::int32_t rank = run.last; rank >= run.first; --rank) {
      const auto block =
          blocks.subspan(static_cast<std::size_t>(shape.local_rank(rank)) * size, size);
      unpack(block, rank == run.last ? sum : operand.data());
      if (rank != run.last) operation.combine(operand.data().base, sum.base, count);
    }
  }
}

}  // namespace

Task reduce_runs(const Team& team, const std::vector<Run>& runs, ConstData contribution,
                 Data results, const Reduction& operation, std::int32_t speaker) {
  const Shape& shape = team.shape;
  if (runs_of(runs, shape.my_client()) == 1) {
    // The local group keeps the order of ranks for operations that need it.
    co_await team.local.reduce(contribution, results, operation, shape.local_rank(speaker));
    co_return;
  }
  const PackedBlock own(contribution);
  const std::size_t size = own.bytes().size();
  const Bytes all(shape.rank == speaker ? size * shape.spanning_ranks.size() : 0);
  co_await team.local.gather(own.bytes(), all.all(), shape.local_rank(speaker));
  if (shape.rank == speaker) combine_runs(shape, runs, all.all(), size, results, operation);
}

std::vector<std::int32_t> member_counts(const Shape& shape) {
  std::vector<std::int32_t> counts(shape.masters.size(), 0);
  for (const std::int32_t client : shape.master_of) ++counts[static_cast<std::size_t>(client)];
  return counts;
}

std::vector<std::int32_t> nth_members(const Shape& shape, std::int32_t n) {
  std::vector<std::int32_t> members(shape.masters.size(), -1);
  std::vector<std::int32_t> seen(shape.masters.size(), 0);
  for (std::int32_t rank = 0; rank < shape.size(); ++rank) {
    const auto client = static_cast<std::size_t>(shape.client_of(rank));
    if (seen[client]++ == n) members[client] = rank;
  }
  return members;
}

}  // namespace impishim::collectives
