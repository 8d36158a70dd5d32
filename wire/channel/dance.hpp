/// How the channels of a host come to be: its listening port, the connect/accept "dance" among hosts (IMPI 2.3.8), and the
/// local hop among the procs of one host.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/engine/engine.hpp"
#include "wire/job_map.hpp"

namespace impishim::wire {

/// A host's listening socket, bound to its advertised address and a port of the kernel's choice.
class HostListener {
 public:
  [[nodiscard]] static Result<HostListener> open(const HostId& address);
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] int descriptor() const { return socket_.get(); }

 private:
  Descriptor socket_;
  std::uint16_t port_ = 0;
};

/// Connects to every host with a lower number *from* the advertised address and sends our host number; accepts every higher
/// one, whose source address must be the one it advertised. Strangers (wrong address, unknown or repeated number, garbage,
/// silence) are closed and reported, and delay nobody. Closes the listener when all are there. kTimeout names the hosts that
/// are missing.
[[nodiscard]] Result<std::vector<HostChannel>> dance(const JobMap& job, std::int32_t my_host, HostListener listener,
                                                     int timeout_ms);

/// The local hop: one end of it per proc. Sockets in the abstract namespace named by `token` carry wake-ups and the descriptors
/// of shared-memory rings (memfd); nothing is left behind when a process dies.
class LocalHop {
 public:
  /// First step, on every proc of the host: be reachable. Then the procs synchronise by other means (a barrier of the
  /// vendor's).
  [[nodiscard]] static Result<LocalHop> open(const std::string& token, std::int32_t my_index);
  /// Second step: connect to `peers` (indices in the host); both sides must name each other. Blocks at most `timeout_ms`.
  /// Returns the channels in the order of `peers`.
  [[nodiscard]] Result<std::vector<std::unique_ptr<Channel>>> connect(const std::vector<std::int32_t>& peers, int timeout_ms);

 private:
  std::string token_;
  std::int32_t my_index_ = 0;
  Descriptor socket_;
};

/// "a.b.c.d", or IPv6 in its usual text form.
[[nodiscard]] std::string address_text(const HostId& address);
/// A numeric address or host name; kConfiguration if it names nothing. IPv4 becomes 12 zero bytes and 4.
[[nodiscard]] Result<HostId> parse_address(const std::string& text);
/// The address from which this machine reaches `server` ("address:port").
[[nodiscard]] Result<HostId> address_towards(const std::string& server);

}  // namespace impishim::wire
