/// The thread that moves an Engine on while the program computes.
#pragma once

#include <atomic>
#include <thread>

#include "wire/engine/engine.hpp"

namespace impishim::wire {

/// Polls the engine when a channel has something and no application thread is polling it; asleep otherwise.
/// Never calls MPI. All signals are blocked in it. Destroying it stops and joins the thread.
class ProgressThread {
 public:
  explicit ProgressThread(Engine& engine);
  ~ProgressThread();
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

 private:
  void run();
  Engine& engine_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace impishim::wire
