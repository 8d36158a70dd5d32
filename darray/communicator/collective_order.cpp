// SPDX-License-Identifier: Apache-2.0
#include "darray/communicator/collective_order.hpp"

#include <algorithm>
#include <utility>

#include "darray/base/error.hpp"

namespace impishim::darray {

// Advances the oldest execution. Returns true if it is complete. Its errors are kept for its owner.
bool CollectiveOrder::move_on(bool blocking) {
  const std::shared_ptr<Work> oldest = queue_.front();
  bool over = true;
  inside_ = true;
  oldest->failure.guard([&] { over = oldest->advance(blocking); });
  inside_ = false;
  if (!over) return false;
  oldest->over = true;
  leave(*oldest);
  return true;
}

void CollectiveOrder::leave(const Work& work) {
  std::erase_if(queue_,
                [&work](const std::shared_ptr<Work>& other) { return other.get() == &work; });
}

CollectiveTicket::~CollectiveTicket() { leave(); }

CollectiveTicket& CollectiveTicket::operator=(CollectiveTicket&& other) noexcept {
  leave();
  turns_ = std::move(other.turns_);
  work_ = std::move(other.work_);
  queued_ = other.queued_;
  return *this;
}

void CollectiveTicket::leave() {
  if (work_ && queued_) turns_->leave(*work_);
  work_.reset();
}

void CollectiveTicket::start(std::function<bool(bool)> advance) {
  if (work_)
    fail(ErrorKind::kArgument, "an execution of this schedule is in progress: wait for it first");
  work_ = std::make_shared<CollectiveOrder::Work>();
  work_->advance = std::move(advance);
  queued_ = !turns_->inside_;
  if (queued_) turns_->queue_.push_back(work_);
}

/// Advances all older executions, then this one. Returns true if nothing of this one is left to do.
bool CollectiveTicket::move_on(bool blocking) {
  while (!work_->over) {
    if (queued_) {
      if (!turns_->move_on(blocking)) return false;
      continue;
    }
    bool over = true;
    work_->failure.guard([&] { over = work_->advance(blocking); });
    if (!over) return false;
    work_->over = true;
  }
  return true;
}

bool CollectiveTicket::advance(bool blocking) {
  if (!work_) return true;
  if (!move_on(blocking)) return false;
  FirstFailure failure = std::exchange(work_, nullptr)->failure;
  failure.rethrow();
  return true;
}

}  // namespace impishim::darray
