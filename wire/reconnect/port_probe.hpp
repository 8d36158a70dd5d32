// SPDX-License-Identifier: Apache-2.0
/// Finds out whether a process listens at a port that this machine may not reach.
#pragma once

#include <poll.h>

#include <cstdint>
#include <optional>
#include <utility>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/packet/packet.hpp"

namespace impishim::wire {

/// A TCP connection that is closed as soon as it is made. No function blocks.
class PortProbe {
 public:
  /// Connects from `from`, if it is given and of the same family: an announced address, from which
  /// hosts expect connections that end early. Fails with kConnection if there is no way to the
  /// address, and with kSystem if there is no descriptor left.
  [[nodiscard]] static Result<PortProbe> start(const HostId& address, std::uint16_t port,
                                               const std::optional<HostId>& from);
  [[nodiscard]] pollfd polled() const { return {socket_.get(), POLLOUT, 0}; }
  /// Returns true if the port is open. Call it once, after an event.
  [[nodiscard]] bool is_open() const;

 private:
  explicit PortProbe(Descriptor socket) : socket_(std::move(socket)) {}
  Descriptor socket_;
};

}  // namespace impishim::wire
