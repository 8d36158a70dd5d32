// SPDX-License-Identifier: Apache-2.0
// Sleeping until a channel has something: which descriptors are watched, and by what a sleeper is
// woken.
#include <array>

#include "wire/base/log.hpp"
#include "wire/base/mutex.hpp"
#include "wire/engine/engine_impl.hpp"

namespace impishim::wire {

/// Every packet that arrives on a watched descriptor costs the kernel a notification, whether
/// anybody sleeps or not: few links are not watched before the first sleep, nor after
/// stop_watching().
void Engine::Impl::watch_links_locked() {
  if (watching) return;
  watching = true;
  for (auto& link : links) {
    if (link->input_ended) continue;
    auto added =
        poller.add(link->channel().descriptor(), link->channel().epoll_events(), link->token);
    if (!added) fail_locked(added.error());
  }
}

/// A sleeper that is woken looks anew: what it was woken by is ready still.
void Engine::Impl::find_announced_locked() {
  watch_links_locked();
  // Of more that are ready the kernel tells the others next time.
  std::array<epoll_event, 64> events{};
  auto count = poller.ready(events);
  if (!count) return fail_locked(count.error());
  for (const epoll_event& event : std::span(events).first(*count))
    links[event.data.u64]->announced = true;
}

void Engine::Impl::stop_watching_locked(Link& link) {
  auto removed = poller.remove(link.channel().descriptor());
  if (!removed) log(LogLevel::kDebug, "{}", removed.error().text);
}

void Engine::stop_watching() {
  if (impl_->asks_together) return;
  // Asked every millisecond by a thread that shall not get in the way of the one that polls.
  if (!impl_->watching.load(std::memory_order_relaxed)) return;
  const MutexLock lock(impl_->mutex);
  if (!impl_->watching || impl_->sleepers > 0) return;
  impl_->watching = false;
  for (auto& link : impl_->links) {
    if (!link->input_ended) impl_->stop_watching_locked(*link);
  }
}

void Engine::Impl::watch_output_locked(Link& link) {
  const bool wanted = !link.output_empty() || !link.streams.empty();
  if (wanted == link.wants_output) return;
  link.wants_output = wanted;
  if (!link.channel().set_want_output(wanted)) {
    // Room that came before the channel knew of the wish is announced to nobody: a sleeper looks
    // once more before it sleeps.
    if (wanted && sleepers > 0) poller.wake();
    return;
  }
  if (!watching) return;
  auto changed =
      poller.modify(link.channel().descriptor(), link.channel().epoll_events(), link.token);
  if (!changed) fail_locked(changed.error());
}

void Engine::wait_for_event(std::chrono::microseconds timeout) {
  using namespace std::chrono_literals;
  Impl& impl = *impl_;
  {
    const MutexLock lock(impl.mutex);
    impl.watch_links_locked();
    // Watching may be what failed, and then nothing wakes this sleeper.
    if (impl.failed.load(std::memory_order_relaxed) && (timeout == kForever || timeout > 1ms))
      timeout = 1ms;
    ++impl.sleepers;
    bool quiet = true;
    for (auto& link : impl.links)
      quiet = (link->input_ended || link->channel().prepare_to_sleep()) &&
              !link->awaits_company() && quiet;
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
    link->channel().end_sleep();
    // end_sleep() spoke for everybody: arm again for those who still sleep.
    if (impl.sleepers > 0 && !link->channel().prepare_to_sleep()) others_must_wake = true;
  }
  if (others_must_wake) impl.poller.wake();
}

void Engine::wake() { impl_->poller.wake(); }

}  // namespace impishim::wire
