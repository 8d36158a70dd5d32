// SPDX-License-Identifier: Apache-2.0
#include "darray/plan/core/rank_plan.hpp"

#include <algorithm>
#include <iterator>

namespace impishim::darray {
namespace {

void merge(std::vector<RankPlan::Message>& messages, std::vector<RankPlan::Message> more) {
  std::ranges::move(more, std::back_inserter(messages));
  std::ranges::stable_sort(messages, {}, &RankPlan::Message::peer);
  std::vector<RankPlan::Message> merged;
  for (RankPlan::Message& message : messages) {
    if (!merged.empty() && merged.back().peer == message.peer) {
      merged.back().elements.add(message.elements);
    } else {
      merged.push_back(std::move(message));
    }
  }
  messages = std::move(merged);
}

}  // namespace

void RankPlan::add_send(int peer, Selection elements) {
  if (!elements.empty()) sends.push_back({peer, std::move(elements)});
}

void RankPlan::add_receive(int peer, Selection elements) {
  if (!elements.empty()) receives.push_back({peer, std::move(elements)});
}

void RankPlan::add_local(Selection source, Selection destination) {
  if (!source.empty()) local.emplace_back(std::move(source), std::move(destination));
}

void RankPlan::append(RankPlan other) {
  merge(sends, std::move(other.sends));
  merge(receives, std::move(other.receives));
  std::ranges::move(other.local, std::back_inserter(local));
  fills.add(other.fills);
  if (!multicast) {
    multicast = std::move(other.multicast);
  } else if (other.multicast) {
    multicast->elements.add(other.multicast->elements);
  }
}

}  // namespace impishim::darray
