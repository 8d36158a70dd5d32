// SPDX-License-Identifier: Apache-2.0
// Sleep until a channel has input or room.
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>

#include "wire/base/mutex.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/poller.hpp"
#include "wire/engine/engine.hpp"
#include "wire/engine/engine_impl.hpp"
#include "wire/peer/engine_state.hpp"

namespace impishim::wire {

void Engine::stop_watching() {
  // Called every millisecond by a thread that must not disturb the thread that polls.
  const SharedFlags& flags = impl_->flags;
  if (flags.always_watching.load(std::memory_order_relaxed) ||
      !flags.watching.load(std::memory_order_relaxed))
    return;
  const MutexLock lock(impl_->mutex);
  impl_->readiness.stop_watching_all();
}

void Engine::wait_for_event(std::chrono::microseconds timeout) {
  using namespace std::chrono_literals;
  Impl& impl = *impl_;
  {
    const MutexLock lock(impl.mutex);
    impl.readiness.watch_all();
    // Watching may be what failed, and then nothing wakes this thread.
    if (impl.has_failed() && (timeout == kForever || timeout > 1ms)) timeout = 1ms;
    const bool quiet = impl.readiness.begin_sleep();
    if (!quiet || impl.relay.owes_credit() || impl.sender.has_batches()) timeout = 0us;
  }
  std::array<epoll_event, 16> events{};
  auto woken =
      timeout == 0us ? Result<std::size_t>(std::size_t{0}) : impl.poller.wait(timeout, events);
  const MutexLock lock(impl.mutex);
  if (!woken) impl.fail(woken.error());
  impl.readiness.end_sleep();
}

void Engine::wake() { impl_->poller.wake(); }

}  // namespace impishim::wire
