// SPDX-License-Identifier: Apache-2.0
/// Posted messages. Each stays in a list until it has been awaited.
#pragma once

#include <algorithm>
#include <list>
#include <utility>

#include "collectives/core/task.hpp"

namespace impishim::shim {

/// The messages of one kind that a MemberTransport has in progress. `Message` is derived from
/// PostedMessage<Message>.
template <class Message>
class PostedMessages {
 public:
  /// Appends a message. Its constructor receives this list and `arguments`.
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
  /// Ends all messages. Stores the first error in `first`, unless `first` already holds an earlier
  /// one.
  void end_all(Result<void>& first) {
    while (!messages_.empty()) {
      const Result<void> ended = messages_.front().outcome();
      if (first.ok() && !ended.ok()) first = ended;
    }
  }
  template <class Function>
  void for_each(const Function& function) {
    std::ranges::for_each(messages_, function);
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
    list_.remove(place_);  // destroys this object
    return result;
  }

 protected:
  ~PostedMessage() = default;
  /// Returns the outcome of the message. Called once.
  virtual Result<void> ended() = 0;

 private:
  friend class PostedMessages<Message>;
  PostedMessages<Message>& list_;
  typename std::list<Message>::iterator place_;
};

}  // namespace impishim::shim
