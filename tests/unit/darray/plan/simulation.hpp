// SPDX-License-Identifier: Apache-2.0
/// Plans of all ranks, run in one process: who sends what to whom is checked, and then done.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "darray/communicator/systems.hpp"
#include "darray/index/distribution.hpp"
#include "darray/plan/core/message_list.hpp"
#include "tests/unit/darray/flat.hpp"

namespace impishim_test {

using impishim::darray::Distribution;
using impishim::darray::Index;
using impishim::darray::MessageList;
using impishim::darray::Systems;

/// The local buffers of all ranks.
using Buffers = std::vector<std::vector<Index>>;

/// All ranks in one system; in systems of so many.
Systems one_system(int ranks);
Systems systems_of(const std::vector<int>& sizes);

class Simulation {
 public:
  /// plan(rank) for all ranks.
  Simulation(int ranks, const std::function<MessageList(int)>& plan);

  /// What a schedule could not run: messages without a counterpart of as many elements, two for one
  /// peer, a message to oneself.
  [[nodiscard]] std::string defect() const;

  using Operator = std::function<Index(Index there, Index arriving)>;
  void run(const Buffers& sources, Buffers& destinations, Index fill = 0,
           const Operator& combine = {}) const;
  /// Without copies.
  void run_backward(Buffers& sources, const Buffers& destinations,
                    const Operator& combine = {}) const;

  [[nodiscard]] const MessageList& plan(int rank) const {
    return plans_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] int messages() const;
  [[nodiscard]] Index moved() const;
  [[nodiscard]] Index copied() const;
  /// Elements that cross, by message or from the root of a multicast.
  [[nodiscard]] Index crossing(const Systems& systems) const;

 private:
  std::vector<MessageList> plans_;
};

/// Buffers of a layout: owned elements hold value(global indices), ghosts -1.
Buffers filled(const Distribution& layout, int ranks,
               const std::function<Index(const std::vector<Index>&)>& value);
/// A rank's buffer as elements of another type. A rank without elements has room for an address all
/// the same.
template <class T>
std::vector<T> buffer_of(int rank, const Buffers& all) {
  const auto& buffer = all[static_cast<std::size_t>(rank)];
  std::vector<T> result(buffer.begin(), buffer.end());
  result.reserve(1);
  return result;
}
/// Calls use(rank, global indices, the element) for all owned elements.
void for_all_owned(const Distribution& layout, Buffers& buffers,
                   const std::function<void(int, const std::vector<Index>&, Index&)>& use);

}  // namespace impishim_test
