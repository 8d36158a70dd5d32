// SPDX-License-Identifier: Apache-2.0
/// Options for TCP connections with few, short messages. Each message must leave at once, and the
/// process must learn whether the peer's machine is still alive.
#pragma once

#include <chrono>
#include <optional>

namespace impishim::wire {

/// The parameters of the kernel's probes on an idle connection. With the defaults a dead machine is
/// noticed after 30 s.
struct KeepaliveTimes {
  int idle_s = 15;     ///< silence before the first probe
  int interval_s = 5;  ///< time between two probes
  int probes = 3;      ///< unanswered probes after which the connection fails with ETIMEDOUT
};

/// Enables the kernel's probes. Has no effect on sockets that are not TCP.
void set_keepalive(int socket, const KeepaliveTimes& times = {});

/// Makes the kernel send each message at once. Otherwise a message may wait for the acknowledgement
/// of an earlier one, which takes 40 ms.
void send_at_once(int socket);

/// Returns the time since the peer's machine last acknowledged something, or nothing for sockets
/// that are not TCP.
[[nodiscard]] std::optional<std::chrono::milliseconds> since_last_ack(int socket);

/// Returns true if bytes sent to the peer have not been acknowledged for `bound`. The kernel sends
/// no probes in this state, and would retransmit the bytes for a quarter of an hour. A stopped peer
/// still acknowledges, because its kernel is alive.
[[nodiscard]] bool is_unanswered(int socket, std::chrono::milliseconds bound);

/// Returns true if the peer's machine has acknowledged everything that was sent.
[[nodiscard]] bool all_acknowledged(int socket);

}  // namespace impishim::wire
