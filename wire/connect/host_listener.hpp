// SPDX-License-Identifier: Apache-2.0
/// The listening socket of a host, and the ports that it may use.
#pragma once

#include <cstdint>
#include <string>

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

/// The listening socket of a host, bound to one address of this machine.
class HostListener {
 public:
  /// Listens at the first port of `ports` that is free. Fails with kConfiguration if `address` does
  /// not belong to this machine, or if all ports are in use; the text names the cure.
  [[nodiscard]] static Result<HostListener> open(const HostId& address, PortRange ports = {});
  [[nodiscard]] const HostId& address() const { return address_; }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] const Descriptor& socket() const { return socket_; }
  /// Async-signal-safe.
  void close_in_forked_child() { socket_.reset(); }

 private:
  HostId address_{};
  Descriptor socket_;
  std::uint16_t port_ = 0;
};

}  // namespace impishim::wire
