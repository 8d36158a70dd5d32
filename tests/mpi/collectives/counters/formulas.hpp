// SPDX-License-Identifier: Apache-2.0
/// The formulas of collectives/README.md, written from its tables: what every collective sends
/// between clients, in all.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/mpi/collectives/counters/setting.hpp"

namespace impishim_test {

/// By rank, or by ranks of sender and receiver.
using Blocks = std::vector<Elements>;
using BlockBetween = std::function<Elements(int from, int to)>;

/// Within one communicator. `root`: a rank. Gather, gatherv, scatter and scatterv have one formula,
/// `name` being whose forms count.
class Formulas {
 public:
  Formulas(const Setting& setting, Members members) : set_(setting), members_(std::move(members)) {}

  [[nodiscard]] Traffic barrier() const;
  [[nodiscard]] Traffic bcast(const Elements& data) const;
  [[nodiscard]] Traffic rooted_equal(const std::string& name, const Elements& block,
                                     int root) const;
  [[nodiscard]] Traffic rooted_blocks(const std::string& name, const Blocks& blocks,
                                      int root) const;
  /// allgather or allgatherv.
  [[nodiscard]] Traffic allgather(const std::string& name, const Blocks& blocks) const;
  [[nodiscard]] Traffic alltoall(const Elements& block) const;
  [[nodiscard]] Traffic alltoallv(const BlockBetween& block) const;
  /// A block along each edge.
  [[nodiscard]] Traffic edges(const std::vector<int>& from, const std::vector<int>& to,
                              const Elements& block) const;

  [[nodiscard]] Traffic reduce(const Elements& data, bool commutes, int root) const;
  [[nodiscard]] Traffic allreduce(const Elements& data, bool commutes) const;
  /// counts[i] elements like `data`'s go to rank i.
  [[nodiscard]] Traffic reduce_scatter(const Elements& data, const std::vector<long long>& counts,
                                       bool commutes) const;
  [[nodiscard]] Traffic scan(const Elements& data) const;

 private:
  [[nodiscard]] int m() const { return members_.clients(); }
  [[nodiscard]] int client_of(int rank) const {
    return members_.client[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] Traffic through_tree(const Elements& block, int root) const;
  [[nodiscard]] Traffic sliced(const Elements& data,
                               const std::function<Traffic(const Elements&)>& of_slice) const;
  [[nodiscard]] std::string allreduce_form(const Elements& data, bool in_order, bool slices) const;
  [[nodiscard]] Traffic allreduce_by(const std::string& form, const Elements& data) const;
  [[nodiscard]] std::vector<int> runs_for(bool commutes) const;

  const Setting& set_;
  Members members_;
};

/// What travels between some ranks' clients and a root of client `root_client`, blocks by rank.
[[nodiscard]] Traffic blocks_and_root(const Setting& set, const std::string& name,
                                      const std::vector<int>& client, const Blocks& blocks,
                                      int root_client);
/// Whether a block travels alone, by the forms of `name`.
[[nodiscard]] bool travels_alone(const Setting& set, const std::string& name,
                                 const Elements& block);

/// Between the groups of an intercommunicator. Ranks and blocks are those of their groups; the root
/// is in client `root_client`.
class InterFormulas {
 public:
  InterFormulas(const Setting& setting, const TwoGroups& groups) : set_(setting), groups_(groups) {}

  [[nodiscard]] Traffic barrier() const;
  /// `takers`: clients of the group that gets the data.
  [[nodiscard]] Traffic bcast(const Elements& data, int root_client,
                              const std::vector<int>& takers) const;
  [[nodiscard]] Traffic allgatherv(const Blocks& of_first, const Blocks& of_second) const;
  /// `block`: between a rank of the first group and one of the second, for both directions.
  [[nodiscard]] Traffic alltoallv(const BlockBetween& there, const BlockBetween& back) const;
  /// `givers`: clients of the group that has the data.
  [[nodiscard]] Traffic reduce(const Elements& data, bool commutes, int root_client,
                               const std::vector<int>& givers) const;
  [[nodiscard]] Traffic allreduce(const Elements& data, bool commutes) const;
  /// counts: of either group's ranks.
  [[nodiscard]] Traffic reduce_scatter(const Elements& data, const std::vector<long long>& of_first,
                                       const std::vector<long long>& of_second,
                                       bool commutes) const;

 private:
  struct Speakers {
    int first = 0;
    int second = 0;
    bool apart = true;  ///< in different clients
  };
  [[nodiscard]] Speakers speakers() const;
  [[nodiscard]] Formulas within(const std::vector<int>& group) const {
    return {set_, numbered(group)};
  }
  [[nodiscard]] Traffic totals_swapped(const Elements& data, bool commutes) const;

  const Setting& set_;
  TwoGroups groups_;
};

}  // namespace impishim_test
