/// The thread that moves an Engine on while the program computes.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "wire/base/mutex.hpp"
#include "wire/engine/engine.hpp"

namespace impishim::wire {

/// Polls the engine when a channel has something and no application thread is polling it; asleep
/// otherwise. Never calls MPI. All signals are blocked in it. Destroying it stops and joins the
/// thread.
class ProgressThread {
 public:
  /// `on_failure` is called once, on this thread, when the engine has failed and a grace period of
  /// one second has passed in which an application thread inside an MPI call could end the job in
  /// its own way. `on_tick` is called on this thread, about every kTick once start_ticking() has
  /// asked for it, until it returns false.
  ProgressThread(Engine& engine, std::function<void(const Error&)> on_failure,
                 std::function<bool()> on_tick = nullptr);
  ~ProgressThread();
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

  static constexpr std::chrono::milliseconds kTick{100};
  /// Cheap if the thread ticks already. What the caller has stored before, by a sequentially
  /// consistent operation, is seen by the ticks that follow.
  void start_ticking() {
    if (!ticks_.load()) wake_to_tick();
  }

 private:
  void run();
  void drive();
  void wake_to_tick();
  void tick_if_due();
  /// Sleeps at most `ms`, or until stop. True: stop.
  bool stopped_within(int ms);

  Engine& engine_;
  std::function<void(const Error&)> on_failure_;
  std::function<bool()> on_tick_;
  std::atomic<bool> ticks_{false};
  std::chrono::steady_clock::time_point last_tick_;
  Mutex mutex_;
  Condition changed_;
  std::atomic<bool> stop_{false};  ///< changed under the mutex, for those who wait
  std::thread thread_;
};

}  // namespace impishim::wire
