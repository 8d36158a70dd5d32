/// How the channels of a host come to be: its listening port, the connect/accept "dance" among hosts (IMPI 2.3.8), and the
/// local hop among the procs of one host.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/address.hpp"
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

/// Who takes a connection: the remote host's number, and the socket.
using ConnectionTaker = std::function<Result<void>(std::int32_t host, Descriptor socket)>;

/// Connects to every host with a lower number *from* the advertised address and sends our host number; accepts every higher
/// one, whose source address must be the one it advertised. Each connection goes to `take` as soon as it is there; an error of
/// `take` ends the dance. Strangers (wrong address, unknown or repeated number, garbage, silence) are closed and reported, and
/// delay nobody. Closes the listener when all are there. kTimeout names the hosts that are missing.
[[nodiscard]] Result<void> dance(const JobMap& job, std::int32_t my_host, HostListener listener, const ConnectionTaker& take,
                                 int timeout_ms);

/// For messages: "host 3 (system 1, 192.0.2.7 port 4711)".
[[nodiscard]] std::string host_name(const JobMap& job, std::int32_t host);

}  // namespace impishim::wire
