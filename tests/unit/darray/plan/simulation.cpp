// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/darray/plan/simulation.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace impishim_test {

namespace {

const impishim::darray::Selection* from_peer(const std::vector<MessageList::Message>& messages,
                                             int peer) {
  const auto found = std::ranges::find(messages, peer, &MessageList::Message::peer);
  return found == messages.end() ? nullptr : &found->elements;
}

void move(const std::vector<Index>& from, const impishim::darray::Selection& source,
          std::vector<Index>& to, const impishim::darray::Selection& destination,
          const Simulation::Operator& combine) {
  const std::vector<Index> reads = source.offsets();
  const std::vector<Index> writes = destination.offsets();
  std::vector<Index> values;
  for (const Index offset : reads) values.push_back(from.at(static_cast<std::size_t>(offset)));
  for (std::size_t k = 0; k < writes.size(); ++k) {
    Index& there = to.at(static_cast<std::size_t>(writes[k]));
    there = combine ? combine(there, values.at(k)) : values.at(k);
  }
}

}  // namespace

Systems one_system(int ranks) {
  return Systems(std::vector<int>(static_cast<std::size_t>(ranks), 0));
}

Systems systems_of(const std::vector<int>& sizes) {
  std::vector<int> systems;
  for (std::size_t system = 0; system < sizes.size(); ++system) {
    systems.insert(systems.end(), static_cast<std::size_t>(sizes[system]),
                   static_cast<int>(system));
  }
  return Systems(systems);
}

Simulation::Simulation(int ranks, const std::function<MessageList(int)>& plan) {
  for (int rank = 0; rank < ranks; ++rank) plans_.push_back(plan(rank));
}

std::string Simulation::defect() const {
  std::map<std::pair<int, int>, Index> sent;
  std::map<std::pair<int, int>, Index> received;
  for (int rank = 0; rank < static_cast<int>(plans_.size()); ++rank) {
    for (const auto& [peer, elements] : plan(rank).sends) {
      if (peer == rank) return fmt::format("rank {} sends to itself", rank);
      if (!sent.try_emplace({rank, peer}, elements.size()).second)
        return fmt::format("{} sends to {} twice", rank, peer);
    }
    for (const auto& [peer, elements] : plan(rank).receives) {
      if (!received.try_emplace({peer, rank}, elements.size()).second)
        return fmt::format("{} hears {} twice", rank, peer);
    }
    for (const auto& [from, to] : plan(rank).local) {
      if (from.size() != to.size())
        return fmt::format("rank {} copies {} elements to {}", rank, from.size(), to.size());
    }
  }
  for (const auto& [pair, size] : sent) {
    const auto found = received.find(pair);
    if (found == received.end() || found->second != size) {
      return fmt::format("{} elements of {} to {}, where {} are expected", size, pair.first,
                         pair.second, found == received.end() ? 0 : found->second);
    }
  }
  return sent.size() == received.size() ? "" : "a message is expected that nobody sends";
}

void Simulation::run(const Buffers& sources, Buffers& destinations, Index fill,
                     const Operator& combine) const {
  for (std::size_t rank = 0; rank < plans_.size(); ++rank) {
    for (const auto& [from, to] : plans_[rank].local)
      move(sources[rank], from, destinations[rank], to, combine);
    for (const auto& [peer, elements] : plans_[rank].receives) {
      const auto sender = static_cast<std::size_t>(peer);
      const auto* sent = from_peer(plans_[sender].sends, static_cast<int>(rank));
      move(sources[sender], *sent, destinations[rank], elements, combine);
    }
    for (const Index offset : plans_[rank].fills.offsets())
      destinations[rank].at(static_cast<std::size_t>(offset)) = fill;
  }
  for (std::size_t rank = 0; rank < plans_.size(); ++rank) {
    const auto& multicast = plans_[rank].multicast;
    if (!multicast || multicast->root == static_cast<int>(rank)) continue;
    const auto root = static_cast<std::size_t>(multicast->root);
    move(destinations[root], plans_[root].multicast.value().elements, destinations[rank],
         multicast->elements, {});
  }
}

void Simulation::run_backward(Buffers& sources, const Buffers& destinations,
                              const Operator& combine) const {
  for (std::size_t rank = 0; rank < plans_.size(); ++rank) {
    for (const auto& [from, to] : plans_[rank].local)
      move(destinations[rank], to, sources[rank], from, combine);
    for (const auto& [peer, elements] : plans_[rank].sends) {
      const auto other = static_cast<std::size_t>(peer);
      move(destinations[other], *from_peer(plans_[other].receives, static_cast<int>(rank)),
           sources[rank], elements, combine);
    }
  }
}

int Simulation::messages() const {
  int count = 0;
  for (const MessageList& plan : plans_) count += static_cast<int>(plan.sends.size());
  return count;
}

Index Simulation::moved() const {
  Index count = 0;
  for (const MessageList& plan : plans_) {
    for (const auto& message : plan.sends) count += message.elements.size();
  }
  return count;
}

Index Simulation::copied() const {
  Index count = 0;
  for (const MessageList& plan : plans_) {
    for (const auto& [from, to] : plan.local) count += from.size();
  }
  return count;
}

Index Simulation::crossing(const Systems& systems) const {
  Index count = 0;
  for (int rank = 0; rank < static_cast<int>(plans_.size()); ++rank) {
    for (const auto& [peer, elements] : plan(rank).sends)
      count += systems.crosses(rank, peer) ? elements.size() : 0;
    const auto& multicast = plan(rank).multicast;
    if (multicast && systems.crosses(rank, multicast->root)) count += multicast->elements.size();
  }
  return count;
}

Buffers filled(const Distribution& layout, int ranks,
               const std::function<Index(const std::vector<Index>&)>& value) {
  Buffers buffers;
  for (int rank = 0; rank < ranks; ++rank)
    buffers.emplace_back(static_cast<std::size_t>(layout.local_size(rank)), -1);
  for_all_owned(layout, buffers, [&](int, const std::vector<Index>& global, Index& element) {
    element = value(global);
  });
  return buffers;
}

void for_all_owned(const Distribution& layout, Buffers& buffers,
                   const std::function<void(int, const std::vector<Index>&, Index&)>& use) {
  for (int rank = 0; rank < static_cast<int>(buffers.size()); ++rank) {
    if (!layout.is_member(rank)) continue;
    const std::vector<Index> owned = layout.owned_shape(rank);
    const std::vector<Index> offset = layout.owned_offset(rank);
    const std::vector<Index> extents = layout.local_shape(rank);
    for (Index number = 0; number < layout.owned_size(rank); ++number) {
      const std::vector<Index> local = tuple(number, owned);
      std::vector<Index> in_buffer(owned.size());
      for (std::size_t axis = 0; axis < owned.size(); ++axis)
        in_buffer[axis] = local[axis] + offset[axis];
      use(rank, layout.to_global(rank, local),
          buffers[static_cast<std::size_t>(rank)].at(
              static_cast<std::size_t>(flat(in_buffer, extents))));
    }
  }
}

}  // namespace impishim_test
