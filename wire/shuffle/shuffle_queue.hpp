/// One output queue of the shuffle: to one neighbour, of one kind. Gathers messages into batches
/// and keeps count of those that are unanswered. Pure state.
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

/// What all queues of a class share: unanswered batches.
struct ShuffleSenderLimit {
  std::uint32_t limit = 1;
  std::uint32_t outstanding = 0;
  [[nodiscard]] bool reached() const { return outstanding >= limit; }
};

class ShuffleQueue {
 public:
  ShuffleQueue(WorldRank neighbour, const ShuffleQueueOptions& options, ShuffleSenderLimit& shared)
      : neighbour_(neighbour), options_(options), shared_(shared) {}

  [[nodiscard]] WorldRank neighbour() const { return neighbour_; }
  /// No further message: a whole batch waits, and may not leave.
  [[nodiscard]] bool full() const { return batch_.size() >= options_.buftarget; }
  void append(const ShuffleMessage& message) {
    append_message(batch_, message);
    ++appended_;
  }

  /// A batch is to leave now. One that is alone leaves at once; while others are unanswered it
  /// first reaches its target, unless a flush asks for it.
  [[nodiscard]] bool ready() const {
    if (batch_.empty() || unanswered_.size() >= options_.maxrpc || shared_.reached()) return false;
    return full() || unanswered_.empty() || flushed_until_ > sent_;
  }
  /// Takes the batch; it counts as unanswered. batches() is then its number.
  [[nodiscard]] std::vector<std::byte> take() {
    ++shared_.outstanding;
    unanswered_.emplace(++batches_, sent_);
    sent_ = appended_;
    return std::exchange(batch_, {});
  }
  /// The batch of that number has been answered; the order may be any. False: it is not unanswered.
  [[nodiscard]] bool answered(std::uint64_t number) {
    if (unanswered_.erase(number) == 0) return false;
    --shared_.outstanding;
    return true;
  }

  /// Messages that have been appended so far. A flush waits until all of now have been answered.
  [[nodiscard]] std::uint64_t appended() const { return appended_; }
  [[nodiscard]] bool all_answered(std::uint64_t until) const {
    return sent_ >= until && (unanswered_.empty() || unanswered_.begin()->second >= until);
  }
  /// From now on batches with messages up to the number `until` do not wait for company.
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
      unanswered_;  ///< batches by number: how many messages came before
  std::uint64_t appended_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t flushed_until_ = 0;
  std::uint64_t batches_ = 0;
};

}  // namespace impishim::wire
