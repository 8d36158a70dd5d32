// SPDX-License-Identifier: Apache-2.0
#include "wire/peer/link_sender.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "wire/base/result.hpp"
#include "wire/peer/link.hpp"

namespace impishim::wire {

bool LinkSender::flush(Link& link) {
  auto flushed = link.output.flush();
  if (!flushed) {
    failures_.link_ended(link, flushed.error());
    return false;
  }
  readiness_.watch_output(link);
  return true;
}

void LinkSender::finish(Link& link, const Result<void>& sent) {
  if (!sent) return failures_.link_ended(link, sent.error());
  readiness_.watch_output(link);
}

void LinkSender::flush_if_full(Link& link, std::uint64_t target) {
  if (link.output.batched() >= target) {
    flush(link);
    return;
  }
  if (link.output.batched() == 0 || link.in_batching) return;
  link.in_batching = true;
  batching_.push_back(&link);
}

void LinkSender::start_batch(Link& link, std::uint64_t target) {
  flush_if_full(link, target);
  if (batching_.empty() || flags_.batches_wait.load(std::memory_order_relaxed)) return;
  flags_.batches_wait.store(true, std::memory_order_relaxed);
  // The progress thread polls again soon, as after a poll.
  flags_.count_application_poll();
  readiness_.wake_sleepers();
}

void LinkSender::flush_batches() {
  flags_.batches_wait.store(false, std::memory_order_relaxed);
  for (std::size_t i = 0; i < batching_.size(); ++i) {
    Link& link = *batching_[i];
    link.in_batching = false;
    if (link.output.batched() > 0) flush(link);
  }
  batching_.clear();
}

}  // namespace impishim::wire
