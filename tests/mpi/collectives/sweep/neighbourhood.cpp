// SPDX-License-Identifier: Apache-2.0
// Neighbourhood collectives: blocks in the order of the edges (MPI-3.1 7.6).
#include <algorithm>
#include <cstdlib>

#include "tests/mpi/collectives/sweep/operation.hpp"

namespace sweep {
namespace {

/// A block that arrives: from whom, and the number of that process's edge.
struct Incoming {
  int from;
  std::size_t edge;
};

/// For each edge into this process the sender's edge: those between the same two processes match in
/// order, but in grids what is sent backward in a dimension comes in from ahead.
std::vector<Incoming> incoming(const Space& space) {
  const auto& sources = space.sources[static_cast<std::size_t>(space.rank)];
  std::vector<Incoming> found;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (sources[i] == MPI_PROC_NULL) {
      found.push_back({MPI_PROC_NULL, 0});
      continue;
    }
    if (space.grid) {
      found.push_back({sources[i], i ^ 1U});
      continue;
    }
    auto earlier =
        std::count(sources.begin(), sources.begin() + static_cast<std::ptrdiff_t>(i), sources[i]);
    const auto& edges = space.destinations[static_cast<std::size_t>(sources[i])];
    for (std::size_t edge = 0; edge < edges.size(); ++edge) {
      if (edges[edge] == space.rank && earlier-- == 0) found.push_back({sources[i], edge});
    }
  }
  return found;
}

struct About {
  Payload payload;
  Spread spread;
  std::uint64_t key;

  [[nodiscard]] std::size_t amount(int from, std::size_t edge) const {
    constexpr std::size_t kTimes[] = {0, 1, 1, 2};
    if (spread == Spread::kEqual) return payload.repeats;
    return payload.repeats * kTimes[mix(mix(key, static_cast<std::uint64_t>(from)), edge) % 4];
  }
};

/// Into edges from MPI_PROC_NULL nothing comes: their blocks stay as they are.
void receive(Draft& draft, const About& about, bool same_for_all) {
  const std::vector<Incoming> edges = incoming(draft.space);
  std::vector<std::size_t> amounts;
  for (const Incoming& edge : edges) {
    amounts.push_back(edge.from == MPI_PROC_NULL
                          ? about.payload.repeats
                          : about.amount(edge.from, same_for_all ? 0 : edge.edge));
  }
  const auto blocks = many_blocks(draft, about.payload, amounts, about.spread, false);
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (edges[i].from == MPI_PROC_NULL) continue;
    const int to = same_for_all ? -1 : static_cast<int>(edges[i].edge);
    draft.operation.received.push_back(part(blocks[i], about.payload, edges[i].from, to));
  }
}

void allgather(Draft& draft, const About& about) {
  const Block block = one_block(draft, about.payload, about.amount(draft.space.rank, 0), true);
  draft.operation.sent.push_back(part(block, about.payload, draft.space.rank, -1));
  receive(draft, about, true);
}

void alltoall(Draft& draft, const About& about) {
  const int rank = draft.space.rank;
  const std::size_t edges = draft.space.destinations[static_cast<std::size_t>(rank)].size();
  std::vector<std::size_t> amounts;
  for (std::size_t edge = 0; edge < edges; ++edge) amounts.push_back(about.amount(rank, edge));
  const auto blocks = many_blocks(draft, about.payload, amounts, about.spread, true);
  for (std::size_t edge = 0; edge < edges; ++edge) {
    draft.operation.sent.push_back(part(blocks[edge], about.payload, rank, static_cast<int>(edge)));
  }
  receive(draft, about, false);
}

}  // namespace

void draft_neighbourhood(Draft& draft) {
  // Without neighbours there is nothing to place, but a type and a count are passed.
  draft.operation.arguments.send_type = draft.operation.arguments.receive_type = MPI_INT;
  const Payload payload = draw_payload(draft, 4 * draft.space.size());
  const std::uint64_t key = draft.shared.next();
  switch (draft.operation.function) {
    case Function::kNeighborAllgather:
      return allgather(draft, {payload, Spread::kEqual, key});
    case Function::kNeighborAllgatherv:
      return allgather(draft, {payload, Spread::kCounts, key});
    case Function::kNeighborAlltoall:
      return alltoall(draft, {payload, Spread::kEqual, key});
    case Function::kNeighborAlltoallv:
      return alltoall(draft, {payload, Spread::kCounts, key});
    case Function::kNeighborAlltoallw:
      return alltoall(draft, {payload, Spread::kTypes, key});
    default:
      std::abort();
  }
}

}  // namespace sweep
