// SPDX-License-Identifier: Apache-2.0
/// The thread that drives an Engine while the program computes.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>

#include "wire/base/mutex.hpp"
#include "wire/engine/engine.hpp"

namespace impishim::wire {

/// Thread that polls the engine when a channel is ready and no application thread is polling; it
/// sleeps otherwise. It never calls MPI. All signals are blocked in it. The destructor stops and
/// joins the thread.
class ProgressThread {
 public:
  /// `on_failure` is called once, on this thread, when the engine has failed and a grace period of
  /// one second has passed. During that period, an application thread inside an MPI call can end
  /// the job in its own way. `on_tick` is called on this thread, about every kTick once
  /// start_ticking() has asked for it, until it returns false. `program_call` is called on this
  /// thread. It returns a number that differs from call to call while the program's thread is in a
  /// call that does not drive the engine, and 0 otherwise. In such a call the program may wait for
  /// a process that waits for a sender to this process.
  ProgressThread(Engine& engine, std::function<void(const Error&)> on_failure,
                 std::function<bool()> on_tick = nullptr,
                 std::function<std::uint64_t()> program_call = nullptr);
  ~ProgressThread();
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

  static constexpr std::chrono::milliseconds kTick{100};
  /// Starts the calls of `on_tick`; cheap if the thread ticks already. The following ticks see what
  /// the caller stored before by a sequentially consistent operation.
  void start_ticking() {
    if (!ticks_.load()) wake_to_tick();
  }

 private:
  void run();
  void drive();
  void wake_to_tick();
  void tick_if_due();
  /// Acknowledges unexpected messages while the program's thread is in such a call, from kTick
  /// after that was first seen. Returns how long the thread may sleep, at most `sleep`.
  [[nodiscard]] std::chrono::microseconds help_senders(std::chrono::microseconds sleep);
  /// Sleeps at most `ms`, or until the thread shall stop. Returns true if it shall stop.
  bool stopped_within(int ms);

  Engine& engine_;
  std::function<void(const Error&)> on_failure_;
  std::function<bool()> on_tick_;
  std::function<std::uint64_t()> program_call_;
  std::uint64_t call_seen_ = 0;                       ///< the program's call, when last asked for
  std::chrono::steady_clock::time_point call_since_;  ///< when that was first seen
  std::atomic<bool> ticks_{false};
  std::chrono::steady_clock::time_point last_tick_;
  Mutex mutex_;
  Condition changed_;
  std::atomic<bool> stop_{false};  ///< changed under the mutex, for threads that wait
  std::thread thread_;
};

}  // namespace impishim::wire
