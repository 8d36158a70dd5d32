/// How the channels of a host come to be: its listening port, the connect/accept "dance" among
/// hosts (IMPI 2.3.8), and the local hop among the procs of one host.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/channel/address.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {

/// A host's listening socket, bound to its advertised address and a port of the kernel's choice.
class HostListener {
 public:
  [[nodiscard]] static Result<HostListener> open(const HostId& address);
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] const Descriptor& socket() const { return socket_; }

 private:
  Descriptor socket_;
  std::uint16_t port_ = 0;
};

/// Takes a connection: the remote host's number, and the socket.
using ConnectionTaker = std::function<Result<void>(std::int32_t host, Descriptor socket)>;

struct DanceOptions {
  /// What the systems of this library have in common (negotiated at startup). Without it only
  /// foreign systems can be connected.
  std::optional<JobSecret> secret;
  int timeout_ms = 0;
  int watched = -1;  ///< wakes the dance when it is readable, so that it asks given_up
  std::function<std::optional<Error>()>
      given_up;  ///< asked at least every 50 ms: an error ends the dance
};

/// Connects to every host with a lower number *from* the advertised address and accepts every
/// higher one, whose source address must be the one it advertised. Between systems of this library,
/// and inside a system, both ends then prove that they belong to the job (link_handshake.hpp). A
/// foreign system's host is believed by its address and number, as IMPI 2.3.8 has it, which the
/// system's first host says in a warning, whatever IMPISHIM_LOG. Each connection goes to `take` as
/// soon as it is proven; an error of `take` ends the dance. Strangers are turned away and reported,
/// bounded in number (link_acceptor.hpp), and delay no host; a lack of descriptors ends nothing.
/// Closes the listener when all are there.
///
/// kTimeout names the hosts that are missing, and of each why the latest attempt failed.
/// kConfiguration: no secret, no libcrypto, or the advertised address is not this machine's.
[[nodiscard]] Result<void> dance(const JobMap& job, std::int32_t my_host, HostListener listener,
                                 const DanceOptions& options, const ConnectionTaker& take);

/// For messages: "host 3 (system 1, 192.0.2.7 port 4711)".
[[nodiscard]] std::string host_name(const JobMap& job, std::int32_t host);

}  // namespace impishim::wire
