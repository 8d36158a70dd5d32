// SPDX-License-Identifier: Apache-2.0
#include "wire/channel/tcp_channel.hpp"

#include <fmt/format.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"
#include "wire/channel/silence.hpp"
#include "wire/channel/tcp_options.hpp"

namespace impishim::wire {

TcpChannel::TcpChannel(Descriptor socket, std::string peer_name, const TcpOptions& options)
    : socket_(std::move(socket)),
      peer_name_(std::move(peer_name)),
      heartbeat_(options.heartbeat),
      silence_(heartbeat_.dead_after()) {
  set_tcp_options(socket_.get(), options);
}

namespace {

// The C library's calls are cancellation points. In a threaded process each begins and ends with an
// atomic exchange, which costs a tenth of a poll. A thread that is cancelled inside a call would
// keep the engine's lock. The code therefore calls the kernel directly, except where a sanitizer
// has to see the call.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
ssize_t send_now(int socket, const void* bytes, std::size_t size, int flags) {
  return send(socket, bytes, size, flags);
}
ssize_t receive_now(int socket, void* bytes, std::size_t size, int flags) {
  return recv(socket, bytes, size, flags);
}
ssize_t send_message_now(int socket, const msghdr& message, int flags) {
  return sendmsg(socket, &message, flags);
}
ssize_t receive_message_now(int socket, msghdr& message, int flags) {
  return recvmsg(socket, &message, flags);
}
#else
ssize_t send_now(int socket, const void* bytes, std::size_t size, int flags) {
  return syscall(SYS_sendto, socket, bytes, size, flags, nullptr, 0);
}
ssize_t receive_now(int socket, void* bytes, std::size_t size, int flags) {
  return syscall(SYS_recvfrom, socket, bytes, size, flags, nullptr, nullptr);
}
ssize_t send_message_now(int socket, const msghdr& message, int flags) {
  return syscall(SYS_sendmsg, socket, &message, flags);
}
ssize_t receive_message_now(int socket, msghdr& message, int flags) {
  return syscall(SYS_recvmsg, socket, &message, flags);
}
#endif

// A single piece needs no message header. The plain calls are measurably cheaper, which matters for
// short messages.
ssize_t send_pieces(int socket, std::span<const iovec> pieces) {
  constexpr int kFlags = MSG_DONTWAIT | MSG_NOSIGNAL;
  if (pieces.size() == 1) return send_now(socket, pieces[0].iov_base, pieces[0].iov_len, kFlags);
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(
      pieces.data());  // NOLINT(cppcoreguidelines-pro-type-const-cast): sendmsg only reads
  message.msg_iovlen = pieces.size();
  return send_message_now(socket, message, kFlags);
}

ssize_t receive_pieces(int socket, std::span<const iovec> pieces) {
  if (pieces.size() == 1)
    return receive_now(socket, pieces[0].iov_base, pieces[0].iov_len, MSG_DONTWAIT);
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(
      pieces.data());  // NOLINT(cppcoreguidelines-pro-type-const-cast): readv-like interface
  message.msg_iovlen = pieces.size();
  return receive_message_now(socket, message, MSG_DONTWAIT);
}

}  // namespace

/// Returns the error of a connection that ended with `error`. The kernel's probes of an idle
/// connection may find a silent machine before peer_silence() does.
Error TcpChannel::lost(int error) const {
  if (error != ETIMEDOUT) return {ErrorKind::kConnection, std::strerror(error)};
  const auto silent = std::chrono::duration_cast<std::chrono::seconds>(heartbeat_.dead_after());
  return {ErrorKind::kConnection,
          fmt::format("its machine has not answered for {} s", silent.count())};
}

Result<std::size_t> TcpChannel::try_send(std::span<const iovec> pieces) {
  const ssize_t sent = send_pieces(socket_.get(), pieces);
  if (sent >= 0) {
    sent_ += static_cast<std::uint64_t>(sent);
    return static_cast<std::size_t>(sent);
  }
  if (would_block(errno)) return std::size_t{0};
  return lost(errno);
}

Result<std::size_t> TcpChannel::try_receive(std::span<const iovec> pieces) {
  const ssize_t received = receive_pieces(socket_.get(), pieces);
  if (received > 0) return static_cast<std::size_t>(received);
  if (received == 0) return Error{ErrorKind::kConnection, "end of stream"};
  if (would_block(errno)) return std::size_t{0};
  return lost(errno);
}

std::uint32_t TcpChannel::epoll_events() const {
  return want_output_ ? static_cast<std::uint32_t>(EPOLLIN) | static_cast<std::uint32_t>(EPOLLOUT)
                      : static_cast<std::uint32_t>(EPOLLIN);
}

bool TcpChannel::set_want_output(bool want) {
  const bool changed = want != want_output_;
  want_output_ = want;
  return changed;
}

std::optional<std::chrono::seconds> TcpChannel::peer_silence() {
  tcp_info info{};
  socklen_t size = sizeof(info);
  if (getsockopt(socket_.get(), SOL_TCP, TCP_INFO, &info, &size) != 0)
    return std::nullopt;  // not TCP
  const AnswerState state{info.tcpi_retransmits > 0 || info.tcpi_probes > 0,
                          std::chrono::milliseconds(info.tcpi_last_ack_recv)};
  if (!silence_.observe(SilenceDetector::Clock::now(), state)) return std::nullopt;
  return std::chrono::duration_cast<std::chrono::seconds>(heartbeat_.dead_after());
}

std::uint64_t TcpChannel::delivered() {
  int queued = 0;  // bytes that are not sent, or not acknowledged
  if (ioctl(socket_.get(), SIOCOUTQ, &queued) != 0) return 0;
  // The queue may hold more than was sent here: a handshake's bytes, or the kernel's frames.
  const auto waiting = static_cast<std::uint64_t>(queued);
  return sent_ - std::min(sent_, waiting);
}

std::optional<RoadState> TcpChannel::road() const {
  tcp_info info{};
  socklen_t size = sizeof(info);
  if (getsockopt(socket_.get(), SOL_TCP, TCP_INFO, &info, &size) != 0) return std::nullopt;
  return RoadState{std::chrono::microseconds(info.tcpi_rtt), info.tcpi_total_retrans};
}

void TcpChannel::shutdown_output() { shutdown(socket_.get(), SHUT_WR); }

}  // namespace impishim::wire
