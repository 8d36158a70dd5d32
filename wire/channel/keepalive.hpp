/// TCP connections that carry few, short messages: each is to leave at once, and whether the
/// machine at the far side still lives is to be known.
#pragma once

#include <chrono>
#include <optional>

namespace impishim::wire {

/// The kernel's probes on a connection on which nothing is sent. By default a dead machine is
/// noticed after 30 s.
struct KeepaliveTimes {
  int idle_s = 15;     ///< of silence before the first probe
  int interval_s = 5;  ///< between two probes
  int probes = 3;      ///< unanswered ones after which the connection fails with ETIMEDOUT
};

/// Switches the kernel's probes on. No effect on sockets that are not TCP's.
void set_keepalive(int socket, const KeepaliveTimes& times = {});

/// Has the kernel send each message at once. Otherwise one may wait for the acknowledgement of
/// another, which takes 40 ms.
void send_at_once(int socket);

/// Returns how long ago the peer's machine has last acknowledged something; nothing for sockets
/// that are not TCP's.
[[nodiscard]] std::optional<std::chrono::milliseconds> since_last_ack(int socket);

/// Returns whether bytes sent to the peer have stayed without any acknowledgement for `bound`. The
/// kernel sends no probes then, and would repeat the bytes for a quarter of an hour. A peer that is
/// stopped does acknowledge: its kernel lives.
[[nodiscard]] bool is_unanswered(int socket, std::chrono::milliseconds bound);

/// Returns whether the peer's machine has acknowledged all that was sent.
[[nodiscard]] bool all_acknowledged(int socket);

}  // namespace impishim::wire
