// SPDX-License-Identifier: Apache-2.0
/// Options of the TCP connections between hosts that users choose.
#pragma once

#include <string>

#include "wire/base/result.hpp"
#include "wire/channel/silence.hpp"

namespace impishim::wire {

/// The user's choice. Each end of a connection has its own.
struct TcpOptions {
  Heartbeat heartbeat{};
  std::string congestion_control{};  ///< as in tcp(7), for example "bbr"; empty: the kernel's own
  /// Most bytes that wait in the kernel without being on their way; 0: the kernel's limit.
  int most_unsent = 0;
  /// True: encrypted connections let the kernel make the records that they send, if it can. The
  /// connection is lost when its key is used up, so another one has to take over then.
  bool kernel_tls = false;
};

/// Checks that this process may use the congestion control of this name. Fails with kConfiguration
/// and a text that begins with `variable` and names those that it may use, and with kSystem if it
/// cannot make a socket.
[[nodiscard]] Result<void> check_congestion_control(const std::string& variable,
                                                    const std::string& name);

/// Makes a connected stream socket non-blocking. On a TCP socket it also disables Nagle's
/// algorithm, sets the congestion control, and enables keepalive, which ends an idle connection to
/// a dead machine after Heartbeat::dead_after().
void set_tcp_options(int socket, const TcpOptions& options = {});

}  // namespace impishim::wire
