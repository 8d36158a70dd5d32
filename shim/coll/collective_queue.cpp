// SPDX-License-Identifier: Apache-2.0
#include "shim/coll/collective_queue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collectives/core/task.hpp"
#include "shim/coll/collective.hpp"
#include "shim/completion/wait.hpp"
#include "shim/error/errors.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "shim/request/request.hpp"
#include "shim/request/status.hpp"
#include "shim/values/failure_notice.hpp"
#include "wire/base/log.hpp"
#include "wire/base/mutex.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::shim {

namespace {

using Clock = std::chrono::steady_clock;

/// Steps without progress between two readings of the clock.
constexpr std::uint32_t kStepsPerReading = 64;
/// How long a collective waits before it reads notices, and between two readings.
constexpr std::chrono::milliseconds kPatience{100};
constexpr std::chrono::milliseconds kPollInterval{20};
constexpr std::chrono::milliseconds kDoubtPollInterval{1};
/// How long it waits if the failed member took part. The others can complete then, unless its error
/// kept data from them. Also how long a member stays in doubt.
constexpr std::chrono::seconds kLongPatience{5};
/// How long a collective that was given up waits for its messages to be cancelled.
constexpr std::chrono::seconds kQuietTime{2};

int class_of(int code) { return own_error_class(code).value_or(vendor_error_class(code)); }

std::string described(const FailureNotice& notice) {
  if (notice.kind == FailureNotice::Kind::kLost || notice.kind == FailureNotice::Kind::kRevoked)
    return notice.text;
  return fmt::format("process {} has reported: {}", notice.origin, notice.text);
}

void tell_others(Job& job, const Communicator& communicator, std::uint64_t number,
                 FailureNotice::Kind kind, int code, const std::string& text) {
  if (!job.tells_failures) return;
  job.failure_notices.tell(job, communicator,
                           {.context = communicator.context,
                            .number = number,
                            .kind = kind,
                            .error_class = class_of(code),
                            .origin = job.here,
                            .text = text});
}

/// Returns the world ranks of all other members.
std::vector<wire::WorldRank> others_in(const Job& job, const Communicator& communicator) {
  std::vector<wire::WorldRank> others = communicator.members;
  if (communicator.inter != nullptr) {
    const auto& own = communicator.own_group();
    others.insert(others.end(), own.begin(), own.end());
  }
  std::erase(others, job.here);
  return others;
}

/// Tells the others of an error in the arguments, which has been raised. Returns its code.
int wrong_arguments(Job& job, const Communicator& communicator, const QueuedCollective& queued,
                    FailureNotice::Kind kind) {
  const Collective& call = queued.call;
  const std::uint64_t number =
      kind == FailureNotice::Kind::kInit ? queued.initialisation : queued.number;
  tell_others(job, communicator, number, kind, call.code(),
              fmt::format("{}: {}", call.function(), call.reason()));
  if (job.tells_failures)
    communicator.collectives->failed_here(kind, number, others_in(job, communicator));
  return call.code();
}

/// Tells the others of an error that ended a collective in which this member took part.
void tell_of_outcome(Job& job, const Communicator& communicator, const QueuedCollective& queued,
                     const Collective::Ending& ending) {
  if (ending.code == MPI_SUCCESS || queued.call.given_up()) return;
  tell_others(job, communicator, queued.number, FailureNotice::Kind::kOutcome, ending.code,
              ending.text.empty() ? queued.call.function() : ending.text);
}

/// Raises the error of a call on a broken communicator.
int raise_broken(const Communicator& communicator, const char* function) {
  const FailureNotice notice = communicator.collectives->what_broke();
  if (notice.kind == FailureNotice::Kind::kLost || notice.kind == FailureNotice::Kind::kRevoked)
    return raise(communicator.handle, notice.error_class, function, notice.text);
  return raise(communicator.handle, notice.error_class, function,
               "an earlier collective of this communicator was given up: " + described(notice));
}

}  // namespace

FailureNotice CollectiveQueue::what_broke() {
  const MutexLock lock(cause_mutex_);
  return cause_;
}

void CollectiveQueue::break_with(FailureNotice cause) {
  const MutexLock lock(cause_mutex_);
  const bool revoked = cause.kind == FailureNotice::Kind::kRevoked;
  if (broken_.load(std::memory_order_relaxed) && !revoked) return;
  cause_ = std::move(cause);
  broken_.store(true, std::memory_order_release);
}

void CollectiveQueue::failed_here(FailureNotice::Kind kind, std::uint64_t number,
                                  std::vector<wire::WorldRank> others) {
  const MutexLock lock(mutex_);
  failures_.failed_here(kind, number, numbers_.load(), std::move(others));
}

/// Returns true if the first collective is complete or was given up; it makes progress on it.
bool CollectiveQueue::first_is_over(Job& job) {
  const std::shared_ptr<QueuedCollective>& first = waiting_.front();
  if (!broken_.load(std::memory_order_acquire)) {
    const bool in_doubt = failures_.in_doubt(first->number);
    if (!in_doubt && first->call.step()) return true;
    if (!job.tells_failures || !must_read_notices(in_doubt)) return false;
    read_notices(job, in_doubt);
    if (!broken_.load(std::memory_order_acquire)) return false;
  }
  if (!first->call.given_up()) {
    const FailureNotice cause = what_broke();
    job.failure_notices.keep(first);
    first->call.give_up(cause.error_class, described(cause));
    stall_.since = Clock::now();
  }
  // The user may reuse the memory when the call returns.
  return first->call.is_quiet() || Clock::now() - stall_.since >= kQuietTime;
}

/// Returns true if the first collective has waited for so long that notices must be read.
bool CollectiveQueue::must_read_notices(bool in_doubt) {
  const QueuedCollective& first = *waiting_.front();
  if (stall_.number != first.number || stall_.waits != first.call.waits() ||
      stall_.in_doubt != in_doubt)
    stall_ = {first.number, first.call.waits(), in_doubt, false, 0, {}, {}};
  const bool at_start = stall_.steps++ == 0;
  if (!at_start && !in_doubt && stall_.steps % kStepsPerReading != 0) return false;
  const auto now = Clock::now();
  if (at_start) {
    stall_.since = now;
    stall_.next_poll = in_doubt ? now : now + kPatience;
  }
  if (now < stall_.next_poll) return false;
  stall_.next_poll = now + (in_doubt ? kDoubtPollInterval : kPollInterval);
  return true;
}

/// Reads the notices of the communicator, and breaks the communicator if they say so.
void CollectiveQueue::read_notices(Job& job, bool in_doubt) {
  const QueuedCollective& first = *waiting_.front();
  const Communicator& communicator = first.call.communicator();
  job.failure_notices.poll(job);
  for (FailureNotice& notice : job.failure_notices.take(communicator.context))
    failures_.take(std::move(notice));
  const bool stalled = Clock::now() - stall_.since >= kLongPatience;
  if (auto cause = failures_.end_of(first.number, initialisations_.load(), stalled))
    return break_communicator(job, std::move(*cause));
  if (in_doubt && stalled) {
    return break_communicator(
        job, {.context = communicator.context,
              .number = first.number,
              .kind = FailureNotice::Kind::kArguments,
              .error_class = MPI_ERR_OTHER,
              .origin = job.here,
              .text = "an earlier collective failed here, and others may still wait in it"});
  }
  failures_.drop_before(first.number);
  if (stalled) tell_of_waiting(job);
}

/// Tells the others, once, with what arguments this member waits.
void CollectiveQueue::tell_of_waiting(Job& job) {
  if (std::exchange(stall_.told, true)) return;
  const QueuedCollective& first = *waiting_.front();
  if (first.call.signature() == 0) return;
  FailureNotice notice{.context = first.call.communicator().context,
                       .number = first.number,
                       .kind = FailureNotice::Kind::kWaits,
                       .error_class = MPI_ERR_OTHER,
                       .signature = first.call.signature(),
                       .origin = job.here,
                       .text = fmt::format("{}: the operation, the root or the number of elements "
                                           "is not the same at all members",
                                           first.call.function())};
  job.failure_notices.tell(job, first.call.communicator(), notice);
}

void CollectiveQueue::break_communicator(Job& job, FailureNotice cause) {
  const QueuedCollective& first = *waiting_.front();
  if (cause.kind != FailureNotice::Kind::kBroken) {
    // Others may still wait in an earlier collective, which this member has completed.
    if (cause.kind == FailureNotice::Kind::kInit) cause.number = first.number;
    cause.kind = FailureNotice::Kind::kBroken;
    job.failure_notices.tell(job, first.call.communicator(), cause);
  }
  break_with(std::move(cause));
}

void CollectiveQueue::end_first(Job& job) {
  const std::shared_ptr<QueuedCollective> first = std::move(waiting_.front());
  waiting_.pop_front();
  log(LogArea::kCollectives, LogLevel::kDebug, "{} is complete: number {} on context {}",
      first->call.function(), first->number, first->call.communicator().context);
  if (first->outstanding) {
    job.outstanding.remove(*this);
    job.needs_caller.fetch_sub(1, std::memory_order_relaxed);
  }
  first->over.store(true, std::memory_order_release);
}

void CollectiveQueue::enter(Job& job, const std::shared_ptr<QueuedCollective>& queued) {
  {
    const MutexLock lock(mutex_);
    waiting_.push_back(queued);
    failures_.called(queued->number, queued->call.signature());
  }
  log(LogArea::kCollectives, LogLevel::kDebug, "{} begins: number {} on context {}",
      queued->call.function(), queued->number, queued->call.communicator().context);
  if (!queued->outstanding) return;
  // No thread may block in the vendor's MPI meanwhile, since only application threads progress
  // collectives.
  job.needs_caller.fetch_add(1, std::memory_order_relaxed);
  job.outstanding.add(*this);
}

void CollectiveQueue::step(Job& job) {
  if (!mutex_.try_lock()) return;
  const AdoptedLock lock(mutex_);
  while (!waiting_.empty() && first_is_over(job)) end_first(job);
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

int fail_collective(Communicator& communicator, const char* function, int error_class,
                    std::string_view text) {
  return run_collective(running_job(), communicator, function,
                        [&](Collective& call) -> std::optional<collectives::Task> {
                          call.fail(error_class, text);
                          return std::nullopt;
                        });
}

int fail_alone(Communicator& communicator, const char* function, int error_class,
               std::string_view text) {
  return raise(communicator.handle, error_class, function, text);
}

int run_collective(Job& job, Communicator& communicator, const char* function,
                   const Prepare& prepare) {
  CollectiveQueue& queue = *communicator.collectives;
  const auto queued = std::make_shared<QueuedCollective>(job, communicator, function, false);
  queued->number = queue.next_number();
  if (communicator.broken.load(std::memory_order_acquire))
    return raise_broken(communicator, function);
  auto task = prepare(queued->call);
  if (!queued->call.ok())
    return wrong_arguments(job, communicator, *queued, FailureNotice::Kind::kArguments);
  queued->call.set_task(std::move(*task));
  queue.enter(job, queued);
  drive_until(
      job, [&] { return queue.waits_in_vendor(); }, [&] { return queue.step(job, *queued); });
  const Collective::Ending ending = queued->call.ending();
  tell_of_outcome(job, communicator, *queued, ending);
  if (ending.code == MPI_SUCCESS || ending.raised) return ending.code;
  return raise_code(communicator.handle, ending.code, ending.text);
}

namespace {

/// The part of a Request that belongs to a nonblocking or persistent collective.
class CollectiveRun {
 public:
  explicit CollectiveRun(CollectiveQueue& queue) : queue_(queue) {}
  /// Starts the collective that `prepare` describes. Returns MPI_SUCCESS or an error code that has
  /// been raised.
  [[nodiscard]] int start(Job& job, Request& request, const Prepare& prepare);
  /// Keeps `prepare` for start_again(), and the handles that it uses, which the user may free
  /// earlier. Returns MPI_SUCCESS or an error code that has been raised.
  [[nodiscard]] int keep(Job& job, const Request& request, Prepare prepare);

  /// Starts a persistent collective. Returns a code that has been raised.
  [[nodiscard]] int start_again(Job& job, Request& request) {
    return start(job, request, prepare_);
  }
  /// Makes progress. Returns true when the collective is complete; `request.error` is then its
  /// code, not raised if it was made here.
  bool test(Job& job, Request& request);
  [[nodiscard]] bool waits_in_vendor() { return queue_.waits_in_vendor(); }

 private:
  CollectiveQueue& queue_;                    ///< of the request's communicator
  std::shared_ptr<QueuedCollective> queued_;  ///< the most recently started one
  Prepare prepare_;                           ///< of a persistent collective
  std::uint64_t initialisation_ = 0;          ///< its number; 0 if it is not persistent
  /// Of a persistent collective; keeps handles that the user may have freed.
  std::shared_ptr<QueuedCollective> arguments_;
};

int CollectiveRun::start(Job& job, Request& request, const Prepare& prepare) {
  auto queued =
      std::make_shared<QueuedCollective>(job, *request.communicator, request.function, true);
  queued->number = queue_.next_number();
  queued->initialisation = initialisation_;
  if (request.communicator->broken.load(std::memory_order_acquire))
    return raise_broken(*request.communicator, request.function);
  auto task = prepare(queued->call);
  if (!queued->call.ok())
    return wrong_arguments(job, *request.communicator, *queued, FailureNotice::Kind::kArguments);
  queued->call.set_task(std::move(*task));
  queued->outstanding = true;
  queued_ = queued;
  request.begin();
  queue_.enter(job, queued);
  queue_.step(job);
  return MPI_SUCCESS;
}

int CollectiveRun::keep(Job& job, const Request& request, Prepare prepare) {
  prepare_ = std::move(prepare);
  arguments_ =
      std::make_shared<QueuedCollective>(job, *request.communicator, request.function, true);
  initialisation_ = queue_.next_initialisation();
  arguments_->initialisation = initialisation_;
  if (request.communicator->broken.load(std::memory_order_acquire))
    return raise_broken(*request.communicator, request.function);
  static_cast<void>(prepare_(arguments_->call));
  if (arguments_->call.ok()) return MPI_SUCCESS;
  return wrong_arguments(job, *request.communicator, *arguments_, FailureNotice::Kind::kInit);
}

bool CollectiveRun::test(Job& job, Request& request) {
  if (!queue_.step(job, *queued_)) return false;
  const Collective::Ending ending = queued_->call.ending();
  if (request.error == MPI_SUCCESS) tell_of_outcome(job, *request.communicator, *queued_, ending);
  request.error = ending.code;
  return true;
}

CollectiveRun& run_of(const Request& request) {
  return *static_cast<CollectiveRun*>(request.part.get());
}

class CollectiveRequest final : public RequestKind {
 public:
  constexpr CollectiveRequest() : RequestKind({.raises_errors = true}) {}

  int start(Job& job, Request& request) const override {
    return run_of(request).start_again(job, request);
  }

  bool advance(Job& job, Request& request) const override {
    return advance_locked(request, [&] { return run_of(request).test(job, request); });
  }

  int read_status(Job& /*job*/, Request& request, MPI_Status* status) const override {
    set_empty_status(status, MPI_ANY_SOURCE);
    return request.error;
  }

  int cancel(Job& /*job*/, Request& request) const override {
    return raise(request.comm(), MPI_ERR_REQUEST, "MPI_Cancel",
                 "a collective operation cannot be cancelled");
  }

  bool waits_in_vendor(Request& request) const override {
    return run_of(request).waits_in_vendor();
  }
};

const RequestKind& collective_request() {
  static constexpr CollectiveRequest kind;
  return kind;
}

Request& make_request(Communicator& communicator, const char* function,
                      const std::shared_ptr<CollectiveRun>& run) {
  Request& request = request_pool().acquire(&communicator, function);
  request.kind = &collective_request();
  request.part = run;
  return request;
}

}  // namespace

int start_collective(Job& job, Communicator& communicator, const char* function,
                     MPI_Request* handle, const Prepare& prepare) {
  const auto run = std::make_shared<CollectiveRun>(*communicator.collectives);
  Request& request = make_request(communicator, function, run);
  const int code = run->start(job, request, prepare);
  if (code != MPI_SUCCESS) {
    request_pool().release(request);
    return code;
  }
  *handle = request_pool().handle_of(request);
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
    request_pool().release(request);
    return code;
  }
  *handle = request_pool().handle_of(request);
  return MPI_SUCCESS;
}

}  // namespace impishim::shim
