// SPDX-License-Identifier: Apache-2.0
#include "darray/plan/core/message_list.hpp"

#include <algorithm>
#include <iterator>

namespace impishim::darray {
namespace {

void merge(std::vector<MessageList::Message>& messages, std::vector<MessageList::Message> more) {
  std::ranges::move(more, std::back_inserter(messages));
  std::ranges::stable_sort(messages, {}, &MessageList::Message::peer);
  std::vector<MessageList::Message> merged;
  for (MessageList::Message& message : messages) {
    if (!merged.empty() && merged.back().peer == message.peer) {
      merged.back().elements.add(message.elements);
    } else {
      merged.push_back(std::move(message));
    }
  }
  messages = std::move(merged);
}

}  // namespace

void MessageList::add_send(int peer, Selection elements) {
  if (!elements.empty()) sends.push_back({peer, std::move(elements)});
}

void MessageList::add_receive(int peer, Selection elements) {
  if (!elements.empty()) receives.push_back({peer, std::move(elements)});
}

void MessageList::add_local(Selection source, Selection destination) {
  if (!source.empty()) local.emplace_back(std::move(source), std::move(destination));
}

void MessageList::append(MessageList other) {
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
