// SPDX-License-Identifier: Apache-2.0
// Sleeping until a channel is ready: which descriptors are watched, and what wakes a sleeping
// thread.
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>

#include "wire/base/log.hpp"
#include "wire/base/mutex.hpp"
#include "wire/base/result.hpp"
#include "wire/engine/engine.hpp"
#include "wire/engine/engine_impl.hpp"

namespace impishim::wire {

/// Watches the descriptors of all links. Every packet that arrives on a watched descriptor costs
/// the kernel a notification, whether a thread sleeps or not. If there are few links, they are not
/// watched before the first sleep, nor after stop_watching().
void Engine::Impl::watch_links_locked() {
  if (watching) return;
  watching = true;
  for (auto& link : links) {
    if (link->input_ended) continue;
    auto added =
        poller.add(link->channel->descriptor(), link->channel->epoll_events(), link->token);
    if (!added) fail_locked(added.error());
  }
}

/// Marks the links whose descriptors are ready. A thread that is woken from sleep polls again: the
/// descriptor that woke it is still ready.
void Engine::Impl::find_announced_locked() {
  watch_links_locked();
  // If more descriptors are ready, the kernel reports the others next time.
  std::array<epoll_event, 64> events{};
  auto count = poller.ready(events);
  if (!count) return fail_locked(count.error());
  for (const epoll_event& event : std::span(events).first(*count))
    links[event.data.u64]->announced = true;
}

void Engine::Impl::stop_watching_locked(Link& link) {
  auto removed = poller.remove(link.channel->descriptor());
  if (!removed) log(LogLevel::kDebug, "{}", removed.error().text);
}

void Engine::stop_watching() {
  if (impl_->asks_together) return;
  // Called every millisecond by a thread that must not disturb the thread that polls.
  if (!impl_->watching.load(std::memory_order_relaxed)) return;
  const MutexLock lock(impl_->mutex);
  if (!impl_->watching || impl_->sleepers > 0) return;
  impl_->watching = false;
  for (auto& link : impl_->links) {
    if (!link->input_ended) impl_->stop_watching_locked(*link);
  }
}

void Engine::Impl::watch_output_locked(Link& link) {
  const bool wanted = !link.output.empty() || !link.output.streams.empty();
  if (wanted == link.output.wants_output) return;
  link.output.wants_output = wanted;
  if (!link.channel->set_want_output(wanted)) {
    // Room that appeared before the channel knew of the wish is announced to no thread. A sleeping
    // thread therefore polls once more before it sleeps.
    if (wanted && sleepers > 0) poller.wake();
    return;
  }
  if (!watching) return;
  auto changed =
      poller.modify(link.channel->descriptor(), link.channel->epoll_events(), link.token);
  if (!changed) fail_locked(changed.error());
}

void Engine::wait_for_event(std::chrono::microseconds timeout) {
  using namespace std::chrono_literals;
  Impl& impl = *impl_;
  {
    const MutexLock lock(impl.mutex);
    impl.watch_links_locked();
    // Watching may be what failed, and then nothing wakes this thread.
    if (impl.failed.load(std::memory_order_relaxed) && (timeout == kForever || timeout > 1ms))
      timeout = 1ms;
    ++impl.sleepers;
    bool quiet = true;
    for (auto& link : impl.links)
      quiet = (link->input_ended || link->channel->prepare_to_sleep()) &&
              !link->output.has_deferred() && quiet;
    if (!quiet || !impl.owing.empty() || !impl.batching.empty()) timeout = 0us;
  }
  std::array<epoll_event, 16> events{};
  auto woken =
      timeout == 0us ? Result<std::size_t>(std::size_t{0}) : impl.poller.wait(timeout, events);
  const MutexLock lock(impl.mutex);
  if (!woken) impl.fail_locked(woken.error());
  --impl.sleepers;
  bool others_must_wake = false;
  for (auto& link : impl.links) {
    if (link->input_ended) continue;
    link->channel->end_sleep();
    // end_sleep() was for all sleeping threads: prepare again for those that still sleep.
    if (impl.sleepers > 0 && !link->channel->prepare_to_sleep()) others_must_wake = true;
  }
  if (others_must_wake) impl.poller.wake();
}

void Engine::wake() { impl_->poller.wake(); }

}  // namespace impishim::wire
