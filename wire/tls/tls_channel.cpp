// SPDX-License-Identifier: Apache-2.0
#include "wire/tls/tls_channel.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/uio.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "wire/base/descriptor.hpp"
#include "wire/base/log.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"
#include "wire/channel/tcp_options.hpp"
#include "wire/tls/kernel_tls.hpp"
#include "wire/tls/tls_session.hpp"

namespace impishim::wire {
namespace {

/// Longest time for which the destructor waits for room for the last bytes.
constexpr std::chrono::milliseconds kLastBytes{250};

iovec piece_of(std::span<const std::byte> bytes) {
  // An iovec serves reading and writing alike, so it has no const form.
  return {const_cast<std::byte*>(bytes.data()),
          bytes.size()};  // NOLINT(cppcoreguidelines-pro-type-const-cast)
}

std::size_t size_of(std::span<const iovec> pieces) {
  std::size_t size = 0;
  for (const iovec& piece : pieces) size += piece.iov_len;
  return size;
}

}  // namespace

Result<std::unique_ptr<Channel>> TlsChannel::make(Descriptor socket,
                                                  std::unique_ptr<TlsSession> session,
                                                  std::string peer_name,
                                                  const TcpOptions& options) {
  Descriptor events(epoll_create1(EPOLL_CLOEXEC));
  Descriptor ready(eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK));
  epoll_event of_socket{EPOLLIN, {}};
  epoll_event of_ready{0, {}};
  if (!events.valid() || !ready.valid() ||
      epoll_ctl(events.get(), EPOLL_CTL_ADD, socket.get(), &of_socket) != 0 ||
      epoll_ctl(events.get(), EPOLL_CTL_ADD, ready.get(), &of_ready) != 0) {
    return Error{ErrorKind::kSystem, fmt::format("cannot make an encrypted channel to {}: {}",
                                                 peer_name, strerror(errno))};
  }
  return std::unique_ptr<Channel>(
      std::make_unique<TlsChannel>(std::move(socket), std::move(session), std::move(peer_name),
                                   std::move(events), std::move(ready), options));
}

TlsChannel::TlsChannel(Descriptor socket, std::unique_ptr<TlsSession> session,
                       std::string peer_name, Descriptor events, Descriptor ready,
                       const TcpOptions& options)
    : socket_(std::move(socket), std::move(peer_name), options),
      session_(std::move(session)),
      events_(std::move(events)),
      ready_(std::move(ready)),
      socket_events_(EPOLLIN) {
  flush();
  let_kernel_seal(options);
  announce_input();
}

void TlsChannel::let_kernel_seal(const TcpOptions& options) {
  if (!options.kernel_tls || !session_->output().empty()) return;
  const auto key = session_->take_sending_key();
  const auto sealed = key ? seal_in_kernel(socket_.descriptor(), *key)
                          : Result<void>(Error{ErrorKind::kSystem, "OpenSSL tells no key"});
  if (sealed) {
    kernel_.emplace(session_->records_per_key());
    log(LogArea::kChannel, LogLevel::kInfo, "the kernel encrypts what is sent to {}", peer_name());
  } else {
    log(LogArea::kChannel, LogLevel::kInfo, "OpenSSL encrypts what is sent to {}: {}", peer_name(),
        sealed.error().text);
  }
}

TlsChannel::~TlsChannel() {
  const auto end = std::chrono::steady_clock::now() + kLastBytes;
  while (socket_.descriptor() >= 0 && has_output()) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    pollfd room{socket_.descriptor(), POLLOUT, 0};
    if (left.count() <= 0 || poll(&room, 1, static_cast<int>(left.count())) == 0) return;
    flush();
  }
}

/// Returns true if something waits for room in the socket: ciphertext, or the end if the kernel
/// makes its record.
bool TlsChannel::has_output() const {
  return !session_->output().empty() || (kernel_ && end_wanted_ && !end_sent_);
}

/// Sends ciphertext by one call. After an error of the socket there is nothing more to send.
void TlsChannel::flush() {
  // An alert of OpenSSL's, whose key the kernel has.
  if (kernel_) session_->remove_output(session_->output().size());
  if (!session_->output().empty()) {
    const iovec piece = piece_of(session_->output());
    auto sent = socket_.try_send(std::span(&piece, 1));
    if (!sent) output_error_ = sent.error();
    session_->remove_output(sent ? *sent : piece.iov_len);
  }
  if (end_wanted_ && !end_sent_ && session_->output().empty()) send_end();
  watch_socket();
}

/// Ends the stream. If the kernel makes the records, and the socket is full, a later call does it.
void TlsChannel::send_end() {
  if (kernel_ && !output_error_) {
    auto sent = send_close_notify(socket_.descriptor());
    if (!sent) output_error_ = sent.error();
    if (sent && !*sent) return;
  }
  end_sent_ = true;
  socket_.shutdown_output();
}

void TlsChannel::watch_socket() {
  const bool output = want_output_ || has_output();
  const auto wanted =
      output ? static_cast<std::uint32_t>(EPOLLIN) | static_cast<std::uint32_t>(EPOLLOUT)
             : static_cast<std::uint32_t>(EPOLLIN);
  if (wanted == socket_events_) return;
  socket_events_ = wanted;
  epoll_event event{wanted, {}};
  // The descriptor is in the set, so the call cannot fail.
  static_cast<void>(epoll_ctl(events_.get(), EPOLL_CTL_MOD, socket_.descriptor(), &event));
}

void TlsChannel::announce_input() {
  const bool input = has_input();
  if (input == announced_) return;
  announced_ = input;
  epoll_event event{input ? static_cast<std::uint32_t>(EPOLLIN) : 0, {}};
  static_cast<void>(epoll_ctl(events_.get(), EPOLL_CTL_MOD, ready_.get(), &event));
}

/// The kernel encrypts from where the pieces are.
Result<std::size_t> TlsChannel::send_through_kernel(std::span<const iovec> pieces) {
  if (kernel_->over())
    return Error{ErrorKind::kConnection, "its key has encrypted as much as it may"};
  auto sent = socket_.try_send(pieces);
  if (sent) kernel_->count(*sent);
  return sent;
}

Result<std::size_t> TlsChannel::try_send(std::span<const iovec> pieces) {
  if (kernel_ && !output_error_) return send_through_kernel(pieces);
  if (!session_->output().empty()) flush();
  if (output_error_) return *output_error_;
  auto taken = session_->write(pieces);
  flush();
  if (taken && output_error_) return *output_error_;
  return taken;
}

/// Reads the socket once, as much as there is room for.
void TlsChannel::read_socket() {
  const auto room = session_->input_room();
  if (room.empty() || input_error_) return;
  const iovec piece = piece_of(room);
  auto got = socket_.try_receive(std::span(&piece, 1));
  if (got) {
    session_->add_input(*got);
  } else {
    input_error_ = got.error();
  }
}

Result<std::size_t> TlsChannel::try_receive(std::span<const iovec> pieces) {
  if (!session_->output().empty() || end_wanted_) flush();
  std::size_t total = 0;
  const std::size_t wanted = size_of(pieces);
  if (session_->has_input()) {
    auto first = session_->read(pieces);
    if (!first) {
      flush();  // an alert may tell the peer why
      return first;
    }
    total = *first;
  }
  if (total < wanted) {
    read_socket();
    auto second = session_->read(pieces, total);
    if (second) total += *second;
    if (!second && total == 0) {
      flush();
      return second;
    }
  }
  announce_input();
  if (total == 0 && input_error_) return session_->end_of_input(input_error_->text);
  return total;
}

std::uint32_t TlsChannel::epoll_events() const { return EPOLLIN; }

bool TlsChannel::set_want_output(bool want) {
  want_output_ = want;
  watch_socket();
  return false;
}

bool TlsChannel::prepare_to_sleep() {
  flush();
  return !has_input();
}

void TlsChannel::shutdown_output() {
  if (!kernel_) session_->close();
  end_wanted_ = true;
  flush();
}

void TlsChannel::close_in_forked_child() {
  socket_.close_in_forked_child();
  events_.reset();
  ready_.reset();
}

}  // namespace impishim::wire
