// SPDX-License-Identifier: Apache-2.0
// "Data movement" and the barrier.
#include <algorithm>

#include "tests/mpi/collectives/counters/formulas.hpp"

namespace impishim_test {
namespace {

/// Smallest d with 2^d >= n.
int log2_up(int n) {
  int d = 0;
  while ((1 << d) < n) ++d;
  return d;
}

}  // namespace

Traffic Formulas::barrier() const {
  const std::string usual = set_.impi ? (m() <= set_.max_linear ? "linear" : "tree") : "exchange";
  const std::string form = set_.form("barrier", usual);
  if (form == "exchange") return {1LL * m() * (m() - 1), 0};
  if (form == "doubling") return {1LL * m() * log2_up(m()), 0};
  return {2LL * (m() - 1), 0};
}

Traffic Formulas::bcast(const Elements& data) const {
  return {(m() - 1) * std::max(1LL, set_.pieces(data.bytes())), (m() - 1) * data.bytes()};
}

bool travels_alone(const Setting& set, const std::string& name, const Elements& block) {
  if (set.impi || block.length() == 0) return false;
  return set.form(name, block.length() >= set.segment ? "direct" : "linear") == "direct";
}

Traffic blocks_and_root(const Setting& set, const std::string& name, const std::vector<int>& client,
                        const Blocks& blocks, int root_client) {
  Traffic all;
  for (int other = 0; other <= *std::max_element(client.begin(), client.end()); ++other) {
    if (other == root_client || std::count(client.begin(), client.end(), other) == 0) continue;
    long long together = 0;
    for (std::size_t rank = 0; rank < client.size(); ++rank) {
      if (client[rank] != other) continue;
      if (travels_alone(set, name, blocks[rank])) {
        all += {1, blocks[rank].bytes()};
      } else {
        together += blocks[rank].bytes();
      }
    }
    all += {set.pieces(together), together};
  }
  return all;
}

/// Every client passes on what it and those below it in the tree have: once for each step.
Traffic Formulas::through_tree(const Elements& block, int root) const {
  Traffic all;
  for (int node = 1; node < m(); ++node) {
    const int end = std::min(m(), node + (node & -node));
    long long bytes = 0;
    for (int below = node; below < end; ++below)
      bytes += members_.of_client((below + client_of(root)) % m()) * block.bytes();
    all += {set_.pieces(bytes), bytes};
  }
  return all;
}

Traffic Formulas::rooted_equal(const std::string& name, const Elements& block, int root) const {
  const bool impi_tree = set_.impi && m() > set_.max_linear && block.length() < set_.xsize;
  if (impi_tree || set_.forced(name) == "tree") return through_tree(block, root);
  return blocks_and_root(set_, name, members_.client, Blocks(members_.client.size(), block),
                         client_of(root));
}

Traffic Formulas::rooted_blocks(const std::string& name, const Blocks& blocks, int root) const {
  return blocks_and_root(set_, name, members_.client, blocks, client_of(root));
}

Traffic Formulas::allgather(const std::string& name, const Blocks& blocks) const {
  long long length = 0;
  long long bytes = 0;
  for (const Elements& block : blocks) {
    length += block.length();
    bytes += block.bytes();
  }
  const std::string form =
      set_.impi ? "rooted" : set_.form(name, length >= set_.long_from ? "direct" : "exchange");
  if (form == "rooted") {
    const Traffic bcast{m() - 1, (m() - 1) * bytes};
    return bcast + (name == "allgather" ? rooted_equal("gather", blocks[0], 0)
                                        : rooted_blocks("gatherv", blocks, 0));
  }
  Traffic all;
  for (int client = 0; client < m(); ++client) {
    long long together = 0;
    for (std::size_t rank = 0; rank < blocks.size(); ++rank) {
      if (client_of(static_cast<int>(rank)) != client || blocks[rank].count == 0) continue;
      together += blocks[rank].bytes();
      if (form == "direct") all += {m() - 1, 0};
    }
    all += {form == "exchange" ? (m() - 1) * set_.pieces(together) : 0, (m() - 1) * together};
  }
  return all;
}

Traffic Formulas::alltoall(const Elements& block) const {
  const std::string usual = block.length() < set_.xsize ? "exchange" : "direct";
  const std::string form = set_.impi ? "direct" : set_.form("alltoall", usual);
  if (form == "direct" || block.count == 0) return alltoallv([&](int, int) { return block; });
  Traffic all;
  for (int from = 0; from < m(); ++from) {
    for (int to = 0; to < m(); ++to) {
      if (from == to) continue;
      const long long bytes =
          1LL * members_.of_client(from) * members_.of_client(to) * block.bytes();
      all += {set_.pieces(bytes), bytes};
    }
  }
  return all;
}

Traffic Formulas::alltoallv(const BlockBetween& block) const {
  Traffic all;
  for (int from = 0; from < members_.size(); ++from) {
    for (int to = 0; to < members_.size(); ++to) {
      if (client_of(from) == client_of(to)) continue;
      const Elements data = block(from, to);
      if (set_.impi || data.count > 0) all += {1, data.bytes()};
    }
  }
  return all;
}

Traffic Formulas::edges(const std::vector<int>& from, const std::vector<int>& to,
                        const Elements& block) const {
  Traffic all;
  for (std::size_t edge = 0; edge < from.size(); ++edge) {
    if (client_of(from[edge]) != client_of(to[edge]) && block.count > 0) all += {1, block.bytes()};
  }
  return all;
}

}  // namespace impishim_test
