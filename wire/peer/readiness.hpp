// SPDX-License-Identifier: Apache-2.0
/// Which links have input or room: asked of their descriptors, or found out by reading each.
#pragma once

#include <atomic>
#include <cstddef>

#include "wire/channel/poller.hpp"
#include "wire/peer/engine_state.hpp"
#include "wire/peer/link.hpp"
#include "wire/peer/peer_table.hpp"

namespace impishim::wire {

/// Watches the descriptors of links for threads that sleep, and for processes with many links. All
/// functions run with the engine's lock held.
class Readiness {
 public:
  /// The descriptors of `links` are watched by `poller`; errors go to `failures`.
  Readiness(const PeerTable::Links& links, Poller& poller, SharedFlags& flags,
            FailureHandler& failures);

  /// Watches a link that was added, if the others are watched.
  void link_added(Link& link);

  /// Returns true if the links are always watched, and their descriptors tell which ones to read:
  /// one query to the kernel costs less than one read of each.
  [[nodiscard]] bool asks_together() const { return asks_together_; }
  [[nodiscard]] bool may_have_input(const Link& link) const {
    return !asks_together_ || link.announced || !link.announces_input;
  }
  /// Returns true if a poll may skip the link. If links of this host had input, forwarding that
  /// input comes first. Asking the kernel for input from other hosts takes longer than all of that,
  /// and waits until the next poll.
  [[nodiscard]] bool may_wait(const Link& link) const {
    return link.remote_host >= 0 && !asks_together_ && link.output.empty() &&
           link.output.streams.empty();
  }
  /// Marks the links whose descriptors are ready. A thread that is woken from sleep polls again:
  /// the descriptor that woke it is still ready.
  void find_announced();

  /// Watches the descriptors of all links. Every packet that arrives on a watched descriptor costs
  /// the kernel a notification, whether a thread sleeps or not. If there are few links, they are
  /// not watched before the first sleep, nor after stop_watching_all().
  void watch_all();
  /// Ends that, unless a thread sleeps.
  void stop_watching_all();
  /// Does not watch the link any more, since it has ended: an ended stream stays ready for ever.
  void stop_watching(Link& link);
  /// Asks for the announcement of room in the link's channel as long as the link has output.
  void watch_output(Link& link);

  /// Begins the sleep of a thread. Returns false if a link has input already.
  [[nodiscard]] bool begin_sleep();
  /// Ends it. Wakes the other sleeping threads if a link has got input meanwhile.
  void end_sleep();
  /// Wakes the threads that sleep, since there is something to send or to do.
  void wake_sleepers() {
    if (sleepers_ > 0) poller_.wake();
  }

 private:
  /// Largest number of sockets that are polled by reading each of them.
  static constexpr std::ptrdiff_t kAskedOneByOne = 2;

  [[nodiscard]] bool has_many() const;

  const PeerTable::Links& links_;
  Poller& poller_;
  std::atomic<bool>& watching_;
  std::atomic<bool>& always_watching_;
  FailureHandler& failures_;
  bool asks_together_;
  int sleepers_ = 0;
};

}  // namespace impishim::wire
