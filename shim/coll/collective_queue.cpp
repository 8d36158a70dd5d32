// SPDX-License-Identifier: Apache-2.0
#include "shim/coll/collective_queue.hpp"

#include <algorithm>
#include <utility>

#include "shim/error/errors.hpp"
#include "shim/request/request.hpp"
#include "shim/request/wait.hpp"
#include "wire/base/mutex.hpp"

namespace impishim::shim {

void CollectiveQueue::enter(Job& job, const std::shared_ptr<QueuedCollective>& queued) {
  {
    const MutexLock lock(mutex_);
    waiting_.push_back(queued);
  }
  if (!queued->outstanding) return;
  // No thread may block in the vendor's MPI meanwhile, since only application threads progress
  // collectives.
  job.needs_caller.fetch_add(1, std::memory_order_relaxed);
  job.outstanding.add(*this);
}

void CollectiveQueue::step(Job& job) {
  if (!mutex_.try_lock()) return;
  const AdoptedLock lock(mutex_);
  while (!waiting_.empty() && waiting_.front()->call.step()) {
    const std::shared_ptr<QueuedCollective> first = std::move(waiting_.front());
    waiting_.pop_front();
    if (first->outstanding) {
      job.outstanding.remove(*this);
      job.needs_caller.fetch_sub(1, std::memory_order_relaxed);
    }
    first->over.store(true, std::memory_order_release);
  }
}

bool CollectiveQueue::step(Job& job, const QueuedCollective& queued) {
  if (!queued.over.load(std::memory_order_acquire)) step(job);
  return queued.over.load(std::memory_order_acquire);
}

bool CollectiveQueue::waits_in_vendor() {
  if (!mutex_.try_lock()) return true;
  const AdoptedLock lock(mutex_);
  return waiting_.empty() || waiting_.front()->call.waits_in_vendor();
}

const char* CollectiveQueue::held_up() {
  if (!mutex_.try_lock()) return nullptr;
  const AdoptedLock lock(mutex_);
  if (waiting_.empty() || !waiting_.front()->call.may_go_on()) return nullptr;
  return waiting_.front()->call.function();
}

const char* OutstandingCollectives::held_up() {
  const MutexLock lock(mutex_);
  for (CollectiveQueue* queue : queues_) {
    if (const char* function = queue->held_up(); function != nullptr) return function;
  }
  return nullptr;
}

void OutstandingCollectives::add(CollectiveQueue& queue) {
  const MutexLock lock(mutex_);
  queues_.push_back(&queue);
  count_.store(queues_.size(), std::memory_order_relaxed);
}

void OutstandingCollectives::remove(CollectiveQueue& queue) {
  const MutexLock lock(mutex_);
  queues_.erase(std::find(queues_.begin(), queues_.end(), &queue));
  count_.store(queues_.size(), std::memory_order_relaxed);
}

void OutstandingCollectives::step_all(Job& job) {
  std::vector<CollectiveQueue*> queues;
  {
    const MutexLock lock(mutex_);
    queues = queues_;
  }
  std::sort(queues.begin(), queues.end());
  queues.erase(std::unique(queues.begin(), queues.end()), queues.end());
  for (CollectiveQueue* queue : queues) queue->step(job);
}

int run_collective(Job& job, Communicator& communicator, const char* function,
                   const Prepare& prepare) {
  const auto queued = std::make_shared<QueuedCollective>(job, communicator, function, false);
  auto task = prepare(queued->call);
  if (!queued->call.ok()) return queued->call.code();
  queued->call.set_task(std::move(*task));
  CollectiveQueue& queue = *communicator.collectives;
  queue.enter(job, queued);
  drive_until(
      job, [&] { return queue.waits_in_vendor(); }, [&] { return queue.step(job, *queued); });
  const Collective::Ending ending = queued->call.ending();
  if (ending.code == MPI_SUCCESS || ending.raised) return ending.code;
  return raise_code(communicator.handle, ending.code, ending.text);
}

namespace {

/// The part of a Request that belongs to a nonblocking or persistent collective.
class CollectiveRun : public CollectivePart {
 public:
  explicit CollectiveRun(CollectiveQueue& queue) : queue_(queue) {}
  /// Starts the collective that `prepare` describes. Returns MPI_SUCCESS or an error code that has
  /// been raised.
  [[nodiscard]] int start(Job& job, Request& request, const Prepare& prepare);
  /// Keeps `prepare` for restart(), and the handles that it uses, which the user may free earlier.
  /// Returns MPI_SUCCESS or an error code that has been raised.
  [[nodiscard]] int keep(Job& job, const Request& request, Prepare prepare);

  [[nodiscard]] int restart(Job& job, Request& request) override {
    return start(job, request, prepare_);
  }
  bool test(Job& job, Request& request) override;
  [[nodiscard]] bool waits_in_vendor() override { return queue_.waits_in_vendor(); }

 private:
  CollectiveQueue& queue_;                    ///< of the request's communicator
  std::shared_ptr<QueuedCollective> queued_;  ///< the most recently started one
  Prepare prepare_;                           ///< of a persistent collective
  /// Of a persistent collective; keeps handles that the user may have freed.
  std::shared_ptr<QueuedCollective> arguments_;
};

int CollectiveRun::start(Job& job, Request& request, const Prepare& prepare) {
  auto queued =
      std::make_shared<QueuedCollective>(job, *request.communicator, request.function, true);
  auto task = prepare(queued->call);
  if (!queued->call.ok()) return queued->call.code();
  queued->call.set_task(std::move(*task));
  queued->outstanding = true;
  queued_ = queued;
  request.active = true;
  request.error = MPI_SUCCESS;
  request.done.store(false, std::memory_order_relaxed);
  queue_.enter(job, queued);
  queue_.step(job);
  return MPI_SUCCESS;
}

int CollectiveRun::keep(Job& job, const Request& request, Prepare prepare) {
  prepare_ = std::move(prepare);
  arguments_ =
      std::make_shared<QueuedCollective>(job, *request.communicator, request.function, true);
  static_cast<void>(prepare_(arguments_->call));
  return arguments_->call.code();
}

bool CollectiveRun::test(Job& job, Request& request) {
  if (!queue_.step(job, *queued_)) return false;
  request.error = queued_->call.ending().code;
  return true;
}

Request& make_request(Communicator& communicator, const char* function,
                      const std::shared_ptr<CollectiveRun>& run) {
  Request& request = RequestPool::instance().acquire(&communicator, function);
  request.kind = Request::Kind::kCollective;
  request.carrier = Carrier::kCollective;
  request.collective = run;
  return request;
}

}  // namespace

int start_collective(Job& job, Communicator& communicator, const char* function,
                     MPI_Request* handle, const Prepare& prepare) {
  const auto run = std::make_shared<CollectiveRun>(*communicator.collectives);
  Request& request = make_request(communicator, function, run);
  const int code = run->start(job, request, prepare);
  if (code != MPI_SUCCESS) {
    RequestPool::instance().release(request);
    return code;
  }
  *handle = RequestPool::instance().handle_of(request);
  return MPI_SUCCESS;
}

int init_collective(Job& job, Communicator& communicator, const char* function, MPI_Request* handle,
                    Prepare prepare) {
  const auto run = std::make_shared<CollectiveRun>(*communicator.collectives);
  Request& request = make_request(communicator, function, run);
  request.persistent = true;
  request.done.store(true);
  // Wrong arguments are reported now. Handles that the user frees before MPI_Start are kept.
  if (const int code = run->keep(job, request, std::move(prepare)); code != MPI_SUCCESS) {
    RequestPool::instance().release(request);
    return code;
  }
  *handle = RequestPool::instance().handle_of(request);
  return MPI_SUCCESS;
}

}  // namespace impishim::shim
