// SPDX-License-Identifier: Apache-2.0
#include "wire/tls/tls_handshake.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"
#include "wire/channel/tcp_options.hpp"
#include "wire/tls/tls_channel.hpp"
#include "wire/tls/tls_session.hpp"

namespace impishim::wire {
namespace {

Error about(const std::string& peer_name, const Error& error) {
  return {error.kind, fmt::format("no encrypted connection to {}: {}", peer_name, error.text)};
}

}  // namespace

Result<TlsHandshake> TlsHandshake::begin(TlsLink link) {
  link.terms.tells_sending_key = link.tcp.kernel_tls;
  auto session = TlsSession::make(link.terms);
  if (!session) return about(link.peer_name, session.error());
  set_tcp_options(link.socket.get(), link.tcp);
  return TlsHandshake(std::move(link), std::move(*session));
}

pollfd TlsHandshake::polled() const {
  const bool output = !session_->output().empty();
  const short events = static_cast<short>(output ? POLLIN | POLLOUT : POLLIN);
  return {link_.socket.get(), events, 0};
}

Result<std::unique_ptr<Channel>> TlsHandshake::make_channel() {
  return TlsChannel::make(std::move(link_.socket), std::move(session_), std::move(link_.peer_name),
                          link_.tcp);
}

Result<void> TlsHandshake::send_output() {
  while (!session_->output().empty()) {
    const auto bytes = session_->output();
    const ssize_t sent =
        send(link_.socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && would_block(errno)) return {};
    if (sent < 0) return session_->end_of_input(strerror(errno));
    session_->remove_output(static_cast<std::size_t>(sent));
  }
  return {};
}

/// Returns false if nothing has arrived.
Result<bool> TlsHandshake::receive_input() {
  const auto room = session_->input_room();
  const ssize_t got = recv(link_.socket.get(), room.data(), room.size(), MSG_DONTWAIT);
  if (got > 0) session_->add_input(static_cast<std::size_t>(got));
  if (got > 0) return true;
  if (got < 0 && would_block(errno)) return false;
  return session_->end_of_input(got == 0 ? "end of stream" : strerror(errno));
}

Result<void> TlsHandshake::advance() {
  auto advanced = advance_session();
  if (!advanced) return about(link_.peer_name, advanced.error());
  return {};
}

Result<void> TlsHandshake::advance_session() {
  for (;;) {
    auto advanced = session_->advance_handshake();
    auto sent = send_output();
    if (!advanced) {
      // The peer reads the alert, and then the end.
      shutdown(link_.socket.get(), SHUT_WR);
      return advanced;
    }
    // An error of sending comes second: the peer's last record tells more than a broken pipe.
    if (session_->done()) return sent;
    auto received = receive_input();
    if (!received) return received.error();
    if (!*received) return sent;
  }
}

namespace {

/// Advances all handshakes, and returns those that are not over.
Result<std::vector<TlsHandshake*>> advance_all(std::vector<TlsHandshake*> handshakes) {
  for (TlsHandshake* const each : handshakes) {
    auto advanced = each->advance();
    if (!advanced) return advanced.error();
  }
  std::erase_if(handshakes, [](const TlsHandshake* each) { return each->over(); });
  return handshakes;
}

/// Drives all handshakes until they are over.
Result<void> finish_all(std::vector<TlsHandshake>& handshakes, int timeout_ms) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::milliseconds(timeout_ms);
  std::vector<TlsHandshake*> unfinished;
  unfinished.reserve(handshakes.size());
  for (TlsHandshake& each : handshakes) unfinished.push_back(&each);
  for (;;) {
    auto rest = advance_all(std::move(unfinished));
    if (!rest) return rest.error();
    if (rest->empty()) return {};
    unfinished = std::move(*rest);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0) {
      return about(unfinished.front()->peer_name(),
                   {ErrorKind::kTimeout,
                    fmt::format("it has not completed the TLS handshake within {} ms: both ends "
                                "must use encryption (IMPISHIM_TLS)",
                                timeout_ms)});
    }
    std::vector<pollfd> wanted;
    wanted.reserve(unfinished.size());
    for (const TlsHandshake* each : unfinished) wanted.push_back(each->polled());
    if (poll(wanted.data(), wanted.size(), static_cast<int>(left.count())) < 0 && errno != EINTR)
      return Error{ErrorKind::kSystem, fmt::format("poll(2) fails: {}", strerror(errno))};
  }
}

}  // namespace

Result<std::vector<std::unique_ptr<Channel>>> make_tls_channels(std::vector<TlsLink> links,
                                                                int timeout_ms) {
  std::vector<TlsHandshake> handshakes;
  handshakes.reserve(links.size());
  for (TlsLink& link : links) {
    auto begun = TlsHandshake::begin(std::move(link));
    if (!begun) return begun.error();
    handshakes.push_back(std::move(*begun));
  }
  auto finished = finish_all(handshakes, timeout_ms);
  if (!finished) return finished.error();
  std::vector<std::unique_ptr<Channel>> channels;
  channels.reserve(handshakes.size());
  for (TlsHandshake& each : handshakes) {
    auto channel = each.make_channel();
    if (!channel) return channel.error();
    channels.push_back(std::move(*channel));
  }
  return channels;
}

}  // namespace impishim::wire
