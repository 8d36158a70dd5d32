// SPDX-License-Identifier: Apache-2.0
/// An output queue of the shuffle, to one neighbour and of one kind. It gathers messages into
/// batches and counts the unanswered batches. Pure state.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "wire/shuffle/shuffle_message.hpp"
#include "wire/shuffle/shuffle_options.hpp"

namespace impishim::wire {

/// The number of unanswered batches, shared by all queues of a kind.
struct ShuffleSenderLimit {
  std::uint32_t limit = 1;
  std::uint32_t outstanding = 0;
  [[nodiscard]] bool reached() const { return outstanding >= limit; }
};

/// A queue with one batch that grows and the batches that are unanswered.
class ShuffleQueue {
 public:
  ShuffleQueue(WorldRank neighbour, const ShuffleQueueOptions& options, ShuffleSenderLimit& shared)
      : neighbour_(neighbour), options_(options), shared_(shared) {}

  [[nodiscard]] WorldRank neighbour() const { return neighbour_; }
  /// Returns true if the queue takes no further message: a full batch waits and may not leave.
  [[nodiscard]] bool full() const { return batch_.size() >= options_.buftarget; }
  void append(const ShuffleMessage& message) {
    append_message(batch_, message);
    ++appended_;
  }

  /// Returns true if a batch should leave now. A batch leaves at once if no other is unanswered.
  /// Otherwise it first grows to its target, unless a flush asks for it.
  [[nodiscard]] bool ready() const {
    if (batch_.empty() || unanswered_.size() >= options_.maxrpc || shared_.reached()) return false;
    return full() || unanswered_.empty() || flushed_until_ > sent_;
  }
  /// Takes the batch, which then counts as unanswered. Its number is the new value of batches().
  [[nodiscard]] std::vector<std::byte> take() {
    ++shared_.outstanding;
    unanswered_.emplace(++batches_, sent_);
    sent_ = appended_;
    return std::exchange(batch_, {});
  }
  /// Marks batch `number` as answered, in any order. Returns false if it is not unanswered.
  [[nodiscard]] bool answered(std::uint64_t number) {
    if (unanswered_.erase(number) == 0) return false;
    --shared_.outstanding;
    return true;
  }

  /// Returns the number of messages appended so far. A flush waits until all of these have been
  /// answered.
  [[nodiscard]] std::uint64_t appended() const { return appended_; }
  [[nodiscard]] bool all_answered(std::uint64_t until) const {
    return sent_ >= until && (unanswered_.empty() || unanswered_.begin()->second >= until);
  }
  /// Lets batches with messages up to number `until` leave without waiting for more messages.
  void flush(std::uint64_t until) { flushed_until_ = std::max(flushed_until_, until); }

  [[nodiscard]] std::size_t outstanding() const { return unanswered_.size(); }
  [[nodiscard]] std::size_t gathered() const { return batch_.size(); }
  [[nodiscard]] std::uint64_t batches() const { return batches_; }

 private:
  WorldRank neighbour_;
  ShuffleQueueOptions options_;
  ShuffleSenderLimit& shared_;
  std::vector<std::byte> batch_;
  std::map<std::uint64_t, std::uint64_t>
      unanswered_;  ///< batch number -> number of messages before the batch
  std::uint64_t appended_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t flushed_until_ = 0;
  std::uint64_t batches_ = 0;
};

}  // namespace impishim::wire
