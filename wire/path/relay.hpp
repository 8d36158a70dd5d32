// SPDX-License-Identifier: Apache-2.0
/// Packets that this process relays, and the credit that limits what may wait here for each
/// neighbour (wire/link/relay_credit.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/peer/engine_counters.hpp"
#include "wire/peer/link.hpp"
#include "wire/peer/link_sender.hpp"
#include "wire/peer/readiness.hpp"

namespace impishim::wire {

/// All functions run with the engine's lock held.
class Relay {
 public:
  /// A batch of relayed packets leaves at once when it has `batch_target` bytes.
  Relay(std::uint64_t batch_target, EngineCounters& counters, Readiness& readiness,
        LinkSender& sender)
      : batch_target_(batch_target), counters_(counters), readiness_(readiness), sender_(sender) {}

  /// Copies a short packet that has arrived whole to the next link's batch. Returns false if the
  /// packet must wait, or is of a rare type; relay() then handles it.
  [[nodiscard]] bool relay_whole(Link& link);
  /// Queues the packet that has arrived for its next link.
  void relay(Link& link);
  /// Forgets the packet that has arrived, for a process that is lost.
  void drop(Link& link);
  /// Counts a packet that arrived on `from` and has left.
  void passed_on(Link& from, std::size_t bytes);
  /// Handles a RELAYACK: sends the packets that waited for credit, then continues long messages.
  [[nodiscard]] Result<void> credit_returned(Link& link);

  /// A poll that has begun returns at its end the credit that becomes due.
  void poll_begins() { polling_ = true; }
  void poll_ends() { polling_ = false; }
  [[nodiscard]] bool owes_credit() const { return !owing_.empty(); }
  /// Tells the peers of links how much has been relayed for them.
  void return_credits();

 private:
  std::uint64_t batch_target_;
  EngineCounters& counters_;
  Readiness& readiness_;
  LinkSender& sender_;
  std::vector<Link*> owing_;  ///< links whose peers must be told what has been relayed
  bool polling_ = false;
};

}  // namespace impishim::wire
