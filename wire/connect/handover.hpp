// SPDX-License-Identifier: Apache-2.0
/// Passes sockets as descriptors, from the proc of a host that makes its connections to the procs
/// that own them.
///
/// A host has one listening port, which its lowest proc owns. Each connection belongs to the
/// representative for the remote host (wire/topology/route.hpp). A gateway keeps all connections
/// that it makes.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/accept_rest.hpp"
#include "wire/channel/stranger_report.hpp"

namespace impishim::wire {

/// The end at the lowest proc, which gives sockets away.
class HandoverGiver {
 public:
  /// Listens for takers. Must be called before any other proc learns `token` (random_token()) and
  /// calls HandoverTaker::connect().
  [[nodiscard]] static Result<HandoverGiver> open(const std::string& token);
  /// Passes `socket`, which is connected to `host`, to the proc with `index` in this host. Returns
  /// when that proc has it. Fails with kTimeout if the proc does not take it within `timeout_ms`.
  [[nodiscard]] Result<void> give(std::int32_t index, std::int32_t host, const Descriptor& socket,
                                  int timeout_ms);
  /// Async-signal-safe.
  void close_in_forked_child();

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] Result<int> connection_of(std::int32_t index, Clock::time_point deadline);
  [[nodiscard]] Result<void> accept_one(Clock::time_point deadline);
  [[nodiscard]] Result<void> rest(int error, Clock::time_point deadline);

  Descriptor listener_;
  std::map<std::int32_t, Descriptor> connections_;  ///< by index in the host
  AcceptRest rest_;
  StrangerReport report_;
};

/// The end at any other proc that owns channels.
class HandoverTaker {
 public:
  [[nodiscard]] static Result<HandoverTaker> connect(const std::string& token,
                                                     std::int32_t my_index, int timeout_ms);
  /// Returns the next socket and its host. Fails with kConnection if the giver has ended; the giver
  /// itself reports the reason.
  [[nodiscard]] Result<std::pair<std::int32_t, Descriptor>> take(int timeout_ms);
  /// Returns the descriptor that is readable while a socket can be taken, or the giver has ended.
  [[nodiscard]] int descriptor() const { return connection_.get(); }
  /// Async-signal-safe.
  void close_in_forked_child() { connection_.reset(); }

 private:
  Descriptor connection_;
};

}  // namespace impishim::wire
