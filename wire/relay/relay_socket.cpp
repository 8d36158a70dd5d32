// SPDX-License-Identifier: Apache-2.0
#include "wire/relay/relay_socket.hpp"

#include <fmt/format.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/silence.hpp"
#include "wire/channel/tcp_options.hpp"

namespace impishim::wire {

RelaySocket::RelaySocket(int epoll, std::uint64_t id, Descriptor socket, std::string peer)
    : epoll_(epoll), id_(id), socket_(std::move(socket)), peer_(std::move(peer)) {
  set_tcp_options(socket_.get());
}

// Not left to close(): a child that the launcher has just forked still holds the socket, and events
// would go on until it calls exec().
RelaySocket::~RelaySocket() { leave_alone(); }

Result<void> RelaySocket::watch(std::uint32_t events) {
  if (watched_ ? events == events_ : events == 0) return {};
  epoll_event event{};
  event.events = events;
  event.data.u64 = id_;
  if (epoll_ctl(epoll_, watched_ ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, socket_.get(), &event) != 0)
    return Error{ErrorKind::kSystem, fmt::format("epoll_ctl failed: {}", std::strerror(errno))};
  watched_ = true;
  events_ = events;
  return {};
}

void RelaySocket::leave_alone() {
  if (watched_) epoll_ctl(epoll_, EPOLL_CTL_DEL, socket_.get(), nullptr);
  watched_ = false;
}

void RelaySocket::reset_when_closed() {
  const linger at_once{1, 0};
  setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

bool RelaySocket::peer_has_ended() const {
  pollfd state{socket_.get(), POLLRDHUP, 0};
  return poll(&state, 1, 0) > 0;
}

bool RelaySocket::peer_is_silent(SilenceDetector::Clock::time_point now) {
  tcp_info info{};
  socklen_t size = sizeof(info);
  if (getsockopt(socket_.get(), SOL_TCP, TCP_INFO, &info, &size) != 0) return false;  // not TCP
  return silence_.observe(now, {info.tcpi_retransmits > 0 || info.tcpi_probes > 0,
                                std::chrono::milliseconds(info.tcpi_last_ack_recv)});
}

std::string RelaySocket::failure() {
  int error = 0;
  socklen_t size = sizeof(error);
  getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error == 0 ? "the connection has failed" : std::strerror(error);
}

}  // namespace impishim::wire
