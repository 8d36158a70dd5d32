// SPDX-License-Identifier: Apache-2.0
/// Messages that have been posted, each until it has been awaited.
#pragma once

#include <algorithm>
#include <list>
#include <utility>

#include "collectives/core/task.hpp"

namespace impishim::shim {

/// Those of one kind that a LeaderGroup has under way. `Message` is derived from
/// PostedMessage<Message>.
template <class Message>
class PostedMessages {
 public:
  /// Its constructor gets this list and `arguments`.
  template <class... Arguments>
  Message& add(Arguments&&... arguments) {
    Message& message = messages_.emplace_back(*this, std::forward<Arguments>(arguments)...);
    message.place_ = std::prev(messages_.end());
    return message;
  }
  [[nodiscard]] bool empty() const { return messages_.empty(); }
  [[nodiscard]] bool all_done() {
    return std::ranges::all_of(messages_, [](Message& message) { return message.done(); });
  }
  /// Ends all of them; in `first`, an earlier error stays.
  void end_all(Result<void>& first) {
    while (!messages_.empty()) {
      const Result<void> ended = messages_.front().outcome();
      if (first.ok() && !ended.ok()) first = ended;
    }
  }
  void remove(typename std::list<Message>::iterator message) { messages_.erase(message); }

 private:
  std::list<Message> messages_;
};

template <class Message>
class PostedMessage : public collectives::Pending {
 public:
  explicit PostedMessage(PostedMessages<Message>& list) : list_(list) {}
  Result<void> outcome() final {
    Result<void> result = ended();
    list_.remove(place_);  // ends this object
    return result;
  }

 protected:
  ~PostedMessage() = default;
  /// How it ended; asked once.
  virtual Result<void> ended() = 0;

 private:
  friend class PostedMessages<Message>;
  PostedMessages<Message>& list_;
  typename std::list<Message>::iterator place_;
};

}  // namespace impishim::shim
