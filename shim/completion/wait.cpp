// SPDX-License-Identifier: Apache-2.0
#include "shim/completion/wait.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "shim/error/errors.hpp"
#include "shim/error/failure.hpp"
#include "shim/job/job.hpp"
#include "shim/job/lost_systems.hpp"
#include "shim/request/any_source.hpp"
#include "shim/request/communicator_end.hpp"
#include "shim/request/request.hpp"
#include "shim/vendor.hpp"
#include "wire/base/log.hpp"
#include "wire/base/result.hpp"
#include "wire/trace/trace.hpp"
#include "wire/trace/trace_event.hpp"
#include "wire/window/window_service.hpp"

namespace impishim::shim {
namespace {

/// Engine polls between two vendor polls. A vendor poll costs about as much as one engine poll.
constexpr std::uint32_t kPollsPerVendorPoll = 4;
/// The same number if each round ends with a yield: other threads on the processor wait for the end
/// of the round.
constexpr std::uint32_t kCrowdedPollsPerVendorPoll = 16;
/// The same number while engine polls find something: a thread that waits for that should not wait
/// for the vendor poll, too.
constexpr std::uint32_t kBusyPollsPerVendorPoll = 32;
/// If every process has a processor: spins for about 50 us, sleeps after some milliseconds.
constexpr WaitPolicy::Pace kAmplePace{4, 200, 4000};
/// Otherwise a process that this one waits for may need this processor.
constexpr WaitPolicy::Pace kCrowdedPace{1, 1, 2000};
/// The vendor's progress must not wait longer.
constexpr std::chrono::microseconds kLongestSleep{1000};
/// The same in a process that has a window over several systems.
constexpr std::chrono::microseconds kLongestWithWindows{200};
/// About what the kernel makes of anything shorter.
constexpr std::chrono::microseconds kShortestSleep{50};
/// Fraction of the time that a wait for the vendor has already slept: most that a further sleep
/// adds to it.
constexpr int kSleepFraction = 32;
/// A thread that polls for the vendor alone leaves the engine out for this time after a poll that
/// found something, and twice as long after each further one, up to the longest.
constexpr std::chrono::microseconds kShortestEnginePause{1};
constexpr std::chrono::microseconds kLongestEnginePause{16};
/// Yields between two checks of how long a wait has lasted.
constexpr std::uint32_t kYieldsPerStallCheck = 64;

/// Returns the number of processors that the processes of this machine share. A launcher binds each
/// of its children to a processor, but not itself, so its processor set tells more than this
/// process's own.
int shared_processors() {
  int most = 0;
  for (const pid_t process : {pid_t{0}, getppid()}) {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (sched_getaffinity(process, sizeof(allowed), &allowed) == 0)
      most = std::max(most, CPU_COUNT(&allowed));
  }
  return most;
}

/// Returns true if this machine has more processes of the job than processors: a spinning process
/// then delays those that it waits for.
bool crowded(const Job& job) {
  static const bool answer = [&] {
    std::int32_t procs = 0;
    // Hosts that share an address share the machine: forced hosts, or systems on one machine.
    const auto& hosts = job.map.hosts();
    const auto& mine = hosts[static_cast<std::size_t>(job.map.proc(job.here).host)];
    for (const auto& host : hosts) procs += host.address == mine.address ? host.proc_count : 0;
    return procs > shared_processors();
  }();
  return answer;
}

thread_local std::uint32_t polls_since_vendor = 0;

/// Handles what this system's processes ask of windows. Returns true if there was any. Ends the job
/// if a process has sent what is no request.
bool serve_windows(Job& job) {
  wire::WindowService* service = job.window_service.load(std::memory_order_acquire);
  if (service == nullptr) return false;
  const bool moved = service->progress(wire::WindowService::Caller::kVendorsThread) != 0;
  if (const Error* failure = service->failure(); failure != nullptr) [[unlikely]]
    end_job(1, fmt::format("one-sided communication: {}", failure->text));
  return moved;
}

}  // namespace

bool can_defer_progress() { return ++polls_since_vendor < kBusyPollsPerVendorPoll; }

bool progress_vendor_and_queues(Job& job, bool came, std::uint32_t polls) {
  exit_if_engine_failed(job);
  handle_new_losses(job);
  if (job.survives.load(std::memory_order_relaxed)) read_revocations(job);
  bool moved = settle_contested(job);
  request_pool().reap_orphans(job);
  if (job.communicators.has_retired()) release_ended(job);
  job.outstanding.step(job);
  moved = serve_windows(job) || moved;
  polls_since_vendor += polls;
  const std::uint32_t idle_looks = crowded(job) ? kCrowdedPollsPerVendorPoll : kPollsPerVendorPoll;
  if (polls_since_vendor >= (came || moved ? kBusyPollsPerVendorPoll : idle_looks)) {
    polls_since_vendor = 0;
    job.vendor_progress->make();
  }
  return moved;
}

bool progress_for_test(Job& job) { return progress_once(job, true) || !job.outstanding.none(); }

void progress_for_vendor(Job& job) {
  static thread_local std::chrono::steady_clock::time_point next_poll;
  static thread_local std::chrono::microseconds pause = kShortestEnginePause;
  const auto now = std::chrono::steady_clock::now();
  bool came = false;
  if (now >= next_poll) {
    came = job.engine->poll(true) != 0;
    pause = came ? kShortestEnginePause : std::min(2 * pause, kLongestEnginePause);
    next_poll = now + pause;
  }
  progress_vendor_and_queues(job, came, 1);
}

void TracedWait::begin_now() {
  if (wire::Trace::calls_of_thread() > 0) begin_ns_ = trace_->now_ns();
}

void TracedWait::end() {
  wire::TraceEvent event;
  event.kind = wire::TraceKind::kWait;
  event.begin_ns = begin_ns_;
  event.end_ns = trace_->now_ns();
  trace_->add(event);
}

WaitPolicy::WaitPolicy(const Job& job) : pace_(crowded(job) ? kCrowdedPace : kAmplePace) {}

void WaitPolicy::begin() const {
  if (&pace_ == &kCrowdedPace) sched_yield();
}

bool WaitPolicy::should_sleep(Job& job, bool moved, std::uint32_t polls) {
  idle_polls_ = moved ? 0 : idle_polls_ + polls;
  if (idle_polls_ < pace_.spin) return false;
  if (idle_polls_ >= pace_.yield) return true;
  slept_ = std::chrono::microseconds(0);
  sched_yield();
  // On a loaded machine, all yields before the first sleep take seconds.
  if (job.diagnostics.stall_seconds > 0 && yields_++ % kYieldsPerStallCheck == 0)
    tell_if_stalled(job);
  return false;
}

void WaitPolicy::sleep(Job& job, bool vendor_may_complete) {
  if (job.diagnostics.stall_seconds > 0) tell_if_stalled(job);
  auto sleep = kLongestSleep;
  // Another process of this system may wait for this one's part of a put, a get or an accumulate.
  const bool serves_window = job.window_service.load(std::memory_order_relaxed) != nullptr;
  if (vendor_may_complete || serves_window) {
    sleep = std::clamp(slept_ / kSleepFraction, kShortestSleep,
                       serves_window ? kLongestWithWindows : kLongestSleep);
    slept_ += sleep;
  }
  job.vendor_progress->make();
  job.engine->wait_for_event(sleep);
}

/// Reports a stall, once for each wait.
void WaitPolicy::tell_if_stalled(Job& job) {
  const auto now = std::chrono::steady_clock::now();
  if (resting_since_ == std::chrono::steady_clock::time_point()) resting_since_ = now;
  if (told_ || now - resting_since_ < std::chrono::seconds(job.diagnostics.stall_seconds)) return;
  told_ = true;
  log_line(LogArea::kShim, LogLevel::kWarn,
           fmt::format("an MPI call has waited for {} s; {}", job.diagnostics.stall_seconds,
                       job.engine->report()));
}

int poll_native(Job& job, MPI_Request request) {
  int code = MPI_SUCCESS;
  drive_until(job, true, [&] {
    int flag = 0;
    code = vendor::Test(&request, &flag, MPI_STATUS_IGNORE);
    return code != MPI_SUCCESS || flag != 0;
  });
  return code;
}

}  // namespace impishim::shim
