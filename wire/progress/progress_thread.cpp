// SPDX-License-Identifier: Apache-2.0
#include "wire/progress/progress_thread.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <utility>

#include "wire/base/mutex.hpp"
#include "wire/base/quiet_thread.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/silence.hpp"
#include "wire/engine/engine.hpp"
#include "wire/progress/spin_policy.hpp"

namespace impishim::wire {
namespace {

/// Time for which the thread does not poll channels that an application thread is polling.
constexpr int kStayAwayMs = 1;
constexpr int kGraceMs = 1000;
/// An application that has polled the channels for this long may continue to do so. Before that,
/// watching the descriptors again would cost more.
constexpr int kDrivesOnMs = 10;

}  // namespace

ProgressThread::ProgressThread(Engine& engine, std::function<void(const Error&)> on_failure,
                               std::function<bool()> on_tick,
                               std::function<std::uint64_t()> program_call)
    : engine_(engine),
      on_failure_(std::move(on_failure)),
      on_tick_(std::move(on_tick)),
      program_call_(std::move(program_call)),
      thread_(quiet_thread("impishim", [this] { run(); })) {}

ProgressThread::~ProgressThread() {
  {
    const MutexLock lock(mutex_);
    stop_.store(true, std::memory_order_relaxed);
  }
  changed_.notify_all();
  engine_.wake();
  thread_.join();
}

bool ProgressThread::stopped_within(int ms) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
  const MutexLock lock(mutex_);
  while (!stop_.load(std::memory_order_relaxed)) {
    if (changed_.wait_until(mutex_, end) == std::cv_status::timeout) break;
  }
  return stop_.load(std::memory_order_relaxed);
}

void ProgressThread::run() {
  drive();
  if (engine_.failure() == nullptr) return;
  if (stopped_within(kGraceMs)) return;
  on_failure_(*engine_.failure());
}

void ProgressThread::wake_to_tick() {
  ticks_.store(true);
  engine_.wake();
}

void ProgressThread::tick_if_due() {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_tick_ < kTick) return;
  last_tick_ = now;
  if (on_tick_()) return;
  ticks_.store(false);
  // A thread that called start_ticking() just before may still have seen `true`, and does not call
  // it again.
  if (on_tick_()) ticks_.store(true);
}

std::chrono::microseconds ProgressThread::help_senders(std::chrono::microseconds sleep) {
  if (program_call_ == nullptr || !engine_.holds_unasked()) return sleep;
  const std::uint64_t call = program_call_();
  const auto now = std::chrono::steady_clock::now();
  if (call == 0 || call != call_seen_) {
    call_seen_ = call;
    call_since_ = now;
  } else if (now - call_since_ >= kTick) {
    engine_.take_unasked();
  }
  return std::min(sleep, std::chrono::microseconds(kTick));
}

/// Drives the engine. Returns when the thread shall stop or the engine has failed.
void ProgressThread::drive() {
  std::uint64_t polls_seen = engine_.application_polls();
  SpinPolicy spin_policy;
  int driven_ms = 0;
  auto next_check = SpinPolicy::Clock::now() + kSilenceCheckInterval;
  while (engine_.failure() == nullptr) {
    if (const auto now = SpinPolicy::Clock::now(); now >= next_check) {
      engine_.check_peers_answer();
      next_check = now + kSilenceCheckInterval;
    }
    const std::uint64_t polls = engine_.application_polls();
    const bool application_drives = polls != polls_seen;
    polls_seen = polls;
    if (application_drives) {
      spin_policy.reset();
      call_seen_ = 0;
      driven_ms = std::min(driven_ms + kStayAwayMs, kDrivesOnMs);
      if (driven_ms >= kDrivesOnMs) engine_.stop_watching();
      if (stopped_within(kStayAwayMs)) return;
      continue;
    }
    driven_ms = 0;
    if (stop_.load(std::memory_order_relaxed)) return;
    const bool ticks = ticks_.load();
    if (ticks) tick_if_due();
    const bool moved = engine_.poll(false) != 0;
    if (spin_policy.should_spin(SpinPolicy::Clock::now(), moved)) {
      sched_yield();
    } else if (!moved) {
      engine_.wait_for_event(help_senders(ticks
                                              ? std::chrono::microseconds(kTick)
                                              : std::chrono::microseconds(kSilenceCheckInterval)));
    }
  }
}

}  // namespace impishim::wire
