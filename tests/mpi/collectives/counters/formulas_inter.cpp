// SPDX-License-Identifier: Apache-2.0
// "Between the groups of an intercommunicator".
#include <algorithm>
#include <numeric>

#include "tests/mpi/collectives/counters/formulas.hpp"

namespace impishim_test {
namespace {

/// The clients that a group is in, each once.
std::vector<int> clients_of(std::vector<int> group) {
  std::sort(group.begin(), group.end());
  group.erase(std::unique(group.begin(), group.end()), group.end());
  return group;
}

/// The first rank of a group in `client`, or 0: and whether it is there.
std::pair<int, bool> nearest(const std::vector<int>& group, int client) {
  const auto found = std::find(group.begin(), group.end(), client);
  return {found == group.end() ? 0 : static_cast<int>(found - group.begin()), found != group.end()};
}

}  // namespace

Traffic InterFormulas::barrier() const {
  std::vector<int> both = groups_.first;
  both.insert(both.end(), groups_.second.begin(), groups_.second.end());
  return within(both).barrier();
}

Traffic InterFormulas::bcast(const Elements& data, int root_client,
                             const std::vector<int>& takers) const {
  Traffic all;
  for (const int client : clients_of(takers)) {
    if (client != root_client) all += {std::max(1LL, set_.pieces(data.bytes())), data.bytes()};
  }
  return all;
}

Traffic InterFormulas::allgatherv(const Blocks& of_first, const Blocks& of_second) const {
  Traffic all;
  for (const int client : clients_of(groups_.second))
    all += blocks_and_root(set_, "gatherv", groups_.first, of_first, client);
  for (const int client : clients_of(groups_.first))
    all += blocks_and_root(set_, "gatherv", groups_.second, of_second, client);
  return all;
}

Traffic InterFormulas::alltoallv(const BlockBetween& there, const BlockBetween& back) const {
  Traffic all;
  for (std::size_t i = 0; i < groups_.first.size(); ++i) {
    for (std::size_t j = 0; j < groups_.second.size(); ++j) {
      if (groups_.first[i] == groups_.second[j]) continue;
      for (const Elements& block : {there(static_cast<int>(i), static_cast<int>(j)),
                                    back(static_cast<int>(j), static_cast<int>(i))}) {
        if (block.count > 0) all += {1, block.bytes()};
      }
    }
  }
  return all;
}

Traffic InterFormulas::reduce(const Elements& data, bool commutes, int root_client,
                              const std::vector<int>& givers) const {
  const auto [speaker, with_root] = nearest(givers, root_client);
  const Traffic inside = within(givers).reduce(data, commutes, speaker);
  return with_root ? inside : inside + Traffic{set_.segments(data), data.bytes()};
}

InterFormulas::Speakers InterFormulas::speakers() const {
  for (std::size_t rank = 0; rank < groups_.first.size(); ++rank) {
    const auto [other, together] = nearest(groups_.second, groups_.first[rank]);
    if (together) return {static_cast<int>(rank), other, false};
  }
  return {};
}

Traffic InterFormulas::totals_swapped(const Elements& data, bool commutes) const {
  const Speakers who = speakers();
  const Traffic across = who.apart ? Traffic{2 * set_.segments(data), 2 * data.bytes()} : Traffic{};
  return across + within(groups_.first).reduce(data, commutes, who.first) +
         within(groups_.second).reduce(data, commutes, who.second);
}

Traffic InterFormulas::allreduce(const Elements& data, bool commutes) const {
  return totals_swapped(data, commutes) + within(groups_.first).bcast(data) +
         within(groups_.second).bcast(data);
}

Traffic InterFormulas::reduce_scatter(const Elements& data, const std::vector<long long>& of_first,
                                      const std::vector<long long>& of_second,
                                      bool commutes) const {
  const Speakers who = speakers();
  const auto scattered = [&](const std::vector<int>& group, const std::vector<long long>& counts,
                             int root) {
    Blocks parts;
    for (const long long count : counts) parts.push_back(data.of(count));
    return within(group).rooted_blocks("scatterv", parts, root);
  };
  return totals_swapped(data, commutes) + scattered(groups_.first, of_first, who.first) +
         scattered(groups_.second, of_second, who.second);
}

}  // namespace impishim_test
