// SPDX-License-Identifier: Apache-2.0
/// The listening sockets of a host, and the ports that it may use.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/packet/packet.hpp"

namespace impishim::wire {

/// Consecutive ports. Both 0: the kernel chooses one.
struct PortRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;

  /// Parses the value of the variable `variable`: "4711" or "4711-4719". Fails with kConfiguration.
  [[nodiscard]] static Result<PortRange> parse(const std::string& variable,
                                               const std::string& text);
  [[nodiscard]] static PortRange only(std::uint16_t port) { return {port, port}; }
};

/// The listening sockets of a host, each bound to one address of this machine, all to one port.
class HostListener {
 public:
  /// Listens at the first port of `ports` that is free at all `addresses`; there must be at least
  /// one. Fails with kConfiguration if an address does not belong to this machine, or if all ports
  /// are in use; the text names the cure.
  [[nodiscard]] static Result<HostListener> open(const std::vector<HostId>& addresses,
                                                 PortRange ports = {});
  [[nodiscard]] static Result<HostListener> open(const HostId& address, PortRange ports = {}) {
    return open(std::vector<HostId>{address}, ports);
  }
  /// Returns the first address.
  [[nodiscard]] const HostId& address() const { return address_; }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::span<const Descriptor> sockets() const { return sockets_; }
  /// Async-signal-safe.
  void close_in_forked_child() {
    for (Descriptor& each : sockets_) each.reset();
  }

 private:
  /// Returns 0, or the kernel's error and the address to which it belongs.
  [[nodiscard]] std::pair<int, HostId> listen_at(const std::vector<HostId>& addresses,
                                                 std::uint16_t port);

  HostId address_{};
  std::vector<Descriptor> sockets_;
  std::uint16_t port_ = 0;
};

}  // namespace impishim::wire
