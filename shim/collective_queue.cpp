#include "shim/collective_queue.hpp"

#include <algorithm>
#include <utility>

#include "shim/errors.hpp"
#include "shim/request.hpp"
#include "shim/wait.hpp"

namespace impishim::shim {

void CollectiveQueue::enter(Job& job, const std::shared_ptr<QueuedCollective>& queued) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(queued);
  }
  if (!queued->outstanding) return;
  // Nobody may block in the vendor's MPI meanwhile: only application threads move collectives on.
  job.needs_caller.fetch_add(1, std::memory_order_relaxed);
  job.outstanding.add(*this);
}

void CollectiveQueue::step(Job& job) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
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
  const std::unique_lock lock(mutex_, std::try_to_lock);
  return !lock.owns_lock() || waiting_.empty() || waiting_.front()->call.waits_in_vendor();
}

const char* CollectiveQueue::held_up() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || waiting_.empty() || !waiting_.front()->call.may_go_on()) return nullptr;
  return waiting_.front()->call.function();
}

const char* OutstandingCollectives::held_up() {
  const std::lock_guard lock(mutex_);
  for (CollectiveQueue* queue : queues_) {
    if (const char* function = queue->held_up(); function != nullptr) return function;
  }
  return nullptr;
}

void OutstandingCollectives::add(CollectiveQueue& queue) {
  const std::lock_guard lock(mutex_);
  queues_.push_back(&queue);
  count_.store(queues_.size(), std::memory_order_relaxed);
}

void OutstandingCollectives::remove(CollectiveQueue& queue) {
  const std::lock_guard lock(mutex_);
  queues_.erase(std::find(queues_.begin(), queues_.end(), &queue));
  count_.store(queues_.size(), std::memory_order_relaxed);
}

void OutstandingCollectives::step_all(Job& job) {
  std::vector<CollectiveQueue*> queues;
  {
    const std::lock_guard lock(mutex_);
    queues = queues_;
  }
  std::sort(queues.begin(), queues.end());
  queues.erase(std::unique(queues.begin(), queues.end()), queues.end());
  for (CollectiveQueue* queue : queues) queue->step(job);
}

int run_collective(Job& job, Communicator& communicator, const char* function, const Prepare& prepare) {
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

Request& make_request(Communicator& communicator, const char* function) {
  Request& request = RequestPool::instance().acquire(&communicator, function);
  request.kind = Request::Kind::kCollective;
  request.carrier = Carrier::kCollective;
  request.collective = std::make_shared<CollectiveRun>();
  return request;
}

int start(Job& job, Request& request, const Prepare& prepare) {
  auto queued = std::make_shared<QueuedCollective>(job, *request.communicator, request.function, true);
  auto task = prepare(queued->call);
  if (!queued->call.ok()) return queued->call.code();
  queued->call.set_task(std::move(*task));
  queued->outstanding = true;
  request.collective->queued = queued;
  request.active = true;
  request.error = MPI_SUCCESS;
  request.done.store(false, std::memory_order_relaxed);
  request.communicator->collectives->enter(job, queued);
  request.communicator->collectives->step(job);
  return MPI_SUCCESS;
}

}  // namespace

int restart_collective(Job& job, Request& request) { return start(job, request, request.collective->prepare); }

int start_collective(Job& job, Communicator& communicator, const char* function, MPI_Request* handle, const Prepare& prepare) {
  Request& request = make_request(communicator, function);
  const int code = start(job, request, prepare);
  if (code != MPI_SUCCESS) {
    RequestPool::instance().release(request);
    return code;
  }
  *handle = RequestPool::instance().handle_of(request);
  return MPI_SUCCESS;
}

int init_collective(Job& job, Communicator& communicator, const char* function, MPI_Request* handle, Prepare prepare) {
  Request& request = make_request(communicator, function);
  request.collective->prepare = std::move(prepare);
  request.persistent = true;
  request.done.store(true);
  // Wrong arguments are told now; and what the user frees before MPI_Start stays.
  request.collective->arguments = std::make_shared<QueuedCollective>(job, communicator, function, true);
  static_cast<void>(request.collective->prepare(request.collective->arguments->call));
  if (const int code = request.collective->arguments->call.code(); code != MPI_SUCCESS) {
    RequestPool::instance().release(request);
    return code;
  }
  *handle = RequestPool::instance().handle_of(request);
  return MPI_SUCCESS;
}

bool test_collective(Job& job, Request& request) {
  const QueuedCollective& queued = *request.collective->queued;
  if (!request.communicator->collectives->step(job, queued)) return false;
  const Collective::Ending ending = queued.call.ending();
  request.error = ending.code;
  return true;
}

}  // namespace impishim::shim
