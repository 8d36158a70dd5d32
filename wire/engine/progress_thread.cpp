#include "wire/engine/progress_thread.hpp"

#include <pthread.h>
#include <signal.h>

#include <chrono>

namespace impishim::wire {
namespace {

/// How long the thread stays away from channels that an application thread is polling.
constexpr int kStayAwayMs = 1;
constexpr int kGraceMs = 1000;

}  // namespace

ProgressThread::ProgressThread(Engine& engine, std::function<void(const Error&)> on_failure)
    : engine_(engine), on_failure_(std::move(on_failure)) {
  // The program's signal handlers run on the program's threads: the new thread inherits a full mask.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

ProgressThread::~ProgressThread() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  engine_.wake();
  thread_.join();
}

bool ProgressThread::stopped_within(int ms) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::milliseconds(ms), [this] { return stop_; });
}

void ProgressThread::run() {
  pthread_setname_np(pthread_self(), "impishim");
  drive();
  if (engine_.failure() == nullptr) return;
  if (stopped_within(kGraceMs)) return;
  on_failure_(*engine_.failure());
}

/// Returns when the thread shall stop or the engine has failed.
void ProgressThread::drive() {
  std::uint64_t polls_seen = engine_.application_polls();
  while (engine_.failure() == nullptr) {
    const std::uint64_t polls = engine_.application_polls();
    const bool application_drives = polls != polls_seen;
    polls_seen = polls;
    if (stopped_within(application_drives ? kStayAwayMs : 0)) return;
    if (application_drives) continue;
    if (engine_.poll(false) == 0) engine_.wait_for_event(Engine::kForever);
  }
}

}  // namespace impishim::wire
