// SPDX-License-Identifier: Apache-2.0
#include "wire/channel/keepalive.hpp"

#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <chrono>
#include <optional>

namespace impishim::wire {
namespace {

void set_option(int socket, int level, int name, int value) {
  // Other kinds of sockets do not have these options, and do not need them.
  setsockopt(socket, level, name, &value, sizeof(value));
}

std::optional<tcp_info> information(int socket) {
  tcp_info info{};
  socklen_t size = sizeof(info);
  if (getsockopt(socket, SOL_TCP, TCP_INFO, &info, &size) != 0) return std::nullopt;
  return info;
}

}  // namespace

void set_keepalive(int socket, const KeepaliveTimes& times) {
  set_option(socket, SOL_TCP, TCP_KEEPINTVL, times.interval_s);
  set_option(socket, SOL_TCP, TCP_KEEPCNT, times.probes);
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, SOL_TCP, TCP_KEEPIDLE, times.idle_s);  // last: it starts the timer
}

void send_at_once(int socket) { set_option(socket, SOL_TCP, TCP_NODELAY, 1); }

std::optional<std::chrono::milliseconds> since_last_ack(int socket) {
  const auto info = information(socket);
  if (!info) return std::nullopt;
  return std::chrono::milliseconds(info->tcpi_last_ack_recv);
}

bool is_unanswered(int socket, std::chrono::milliseconds bound) {
  const auto info = information(socket);
  if (!info || std::chrono::milliseconds(info->tcpi_last_ack_recv) < bound) return false;
  const bool repeating = info->tcpi_unacked > 0 && info->tcpi_retransmits > 0;
  return repeating || info->tcpi_probes > 0;
}

bool all_acknowledged(int socket) {
  int bytes = 0;
  return ioctl(socket, SIOCOUTQ, &bytes) != 0 || bytes == 0;
}

}  // namespace impishim::wire
