// SPDX-License-Identifier: Apache-2.0
/// Sends what the links' outputs hold: at once, or in batches.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/link/link_output.hpp"
#include "wire/peer/engine_state.hpp"
#include "wire/peer/link.hpp"
#include "wire/peer/readiness.hpp"

namespace impishim::wire {

/// Hands packets to channels, and ends the link where that fails. All functions run with the
/// engine's lock held.
class LinkSender {
 public:
  LinkSender(Readiness& readiness, SharedFlags& flags, FailureHandler& failures)
      : readiness_(readiness), flags_(flags), failures_(failures) {}

  /// Sends what the channel takes. Returns false if the link has ended.
  bool flush(Link& link);
  /// Handles the result of a function of the link's output: ends the link, or watches for room.
  void finish(Link& link, const Result<void>& sent);
  /// Sends a packet behind what is queued.
  void send(Link& link, OutgoingPacket&& packet) {
    finish(link, link.output.send(std::move(packet)));
  }

  /// Sends the link's batch if it has reached `target` bytes; otherwise leaves it for
  /// flush_batches().
  void flush_if_full(Link& link, std::uint64_t target);
  /// Does the same for a batch of this process's messages, which also leaves when the progress
  /// thread finds it.
  void start_batch(Link& link, std::uint64_t target);
  /// Sends two kinds of batches: packets that were relayed while packets arrived, and messages that
  /// this process began between two polls.
  void flush_batches();
  [[nodiscard]] bool has_batches() const { return !batching_.empty(); }

 private:
  Readiness& readiness_;
  SharedFlags& flags_;
  FailureHandler& failures_;
  std::vector<Link*> batching_;  ///< links with packets that need a flush
};

}  // namespace impishim::wire
