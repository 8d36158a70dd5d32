// SPDX-License-Identifier: Apache-2.0
#include "wire/peer/readiness.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "wire/base/log.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/poller.hpp"
#include "wire/peer/engine_state.hpp"
#include "wire/peer/link.hpp"
#include "wire/peer/peer_table.hpp"

namespace impishim::wire {

Readiness::Readiness(const PeerTable::Links& links, Poller& poller, SharedFlags& flags,
                     FailureHandler& failures)
    : links_(links),
      poller_(poller),
      watching_(flags.watching),
      always_watching_(flags.always_watching),
      failures_(failures),
      asks_together_(has_many()) {
  always_watching_ = asks_together_;
}

bool Readiness::has_many() const {
  return std::ranges::count_if(links_, [](const auto& link) { return link->announces_input; }) >
         kAskedOneByOne;
}

void Readiness::link_added(Link& link) {
  asks_together_ = has_many();
  always_watching_ = asks_together_;
  if (!watching_) return;
  auto added = poller_.add(link.channel->descriptor(), link.channel->epoll_events(), link.token);
  if (!added) failures_.fail(added.error());
}

void Readiness::watch_all() {
  if (watching_) return;
  watching_ = true;
  for (const auto& link : links_) {
    if (link->input_ended) continue;
    auto added =
        poller_.add(link->channel->descriptor(), link->channel->epoll_events(), link->token);
    if (!added) failures_.fail(added.error());
  }
}

void Readiness::find_announced() {
  watch_all();
  // If more descriptors are ready, the kernel reports the others next time.
  std::array<epoll_event, 64> events{};
  auto count = poller_.ready(events);
  if (!count) return failures_.fail(count.error());
  for (const epoll_event& event : std::span(events).first(*count)) {
    Link* const link = PeerTable::find_by_token(links_, event.data.u64);
    if (link != nullptr) link->announced = true;
  }
}

void Readiness::stop_watching(Link& link) {
  if (!watching_) return;
  auto removed = poller_.remove(link.channel->descriptor());
  if (!removed) log(LogArea::kEngine, LogLevel::kDebug, "{}", removed.error().text);
}

void Readiness::stop_watching_all() {
  if (!watching_ || sleepers_ > 0) return;
  for (const auto& link : links_) {
    if (!link->input_ended) stop_watching(*link);
  }
  watching_ = false;
}

void Readiness::watch_output(Link& link) {
  const bool wanted = !link.output.empty() || !link.output.streams.empty();
  if (wanted == link.output.wants_output) return;
  link.output.wants_output = wanted;
  if (!link.channel->set_want_output(wanted)) {
    // Room that appeared before the channel knew of the wish is announced to no thread. A sleeping
    // thread therefore polls once more before it sleeps.
    if (wanted) wake_sleepers();
    return;
  }
  if (!watching_) return;
  auto changed =
      poller_.modify(link.channel->descriptor(), link.channel->epoll_events(), link.token);
  if (!changed) failures_.fail(changed.error());
}

bool Readiness::begin_sleep() {
  ++sleepers_;
  bool quiet = true;
  for (const auto& link : links_)
    quiet = (link->input_ended || link->channel->prepare_to_sleep()) &&
            !link->output.has_deferred() && quiet;
  return quiet;
}

void Readiness::end_sleep() {
  --sleepers_;
  bool others_must_wake = false;
  for (const auto& link : links_) {
    if (link->input_ended) continue;
    link->channel->end_sleep();
    // end_sleep() was for all sleeping threads: prepare again for those that still sleep.
    if (sleepers_ > 0 && !link->channel->prepare_to_sleep()) others_must_wake = true;
  }
  if (others_must_wake) poller_.wake();
}

}  // namespace impishim::wire
