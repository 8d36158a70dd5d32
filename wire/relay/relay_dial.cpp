// SPDX-License-Identifier: Apache-2.0
#include "wire/relay/relay_dial.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/address.hpp"
#include "wire/channel/tcp_options.hpp"
#include "wire/relay/relay_hello.hpp"

namespace impishim::wire {
namespace {}  // namespace

RelayDial::RelayDial(Descriptor socket, const RelayHello& hello, std::string relay)
    : socket_(std::move(socket)), hello_(encode_relay_hello(hello)), relay_(std::move(relay)) {}

Error RelayDial::failed(const std::string& why) const {
  return {ErrorKind::kConnection, fmt::format("the relay at {}: {}", relay_, why)};
}

Result<RelayDial> RelayDial::start(const SocketAddress& relay, const RelayToken& token,
                                   std::int32_t own, std::int32_t other) {
  const RelayEnds ends{own, other};
  auto checked = check_relay_ends(ends);
  if (!checked) return checked.error();
  Descriptor socket(::socket(relay.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid())
    return Error{ErrorKind::kSystem,
                 fmt::format("cannot connect to the relay: socket: {}", std::strerror(errno))};
  // A wait for the other host may be long. The kernel's probes tell whether the relay is alive.
  set_tcp_options(socket.get());
  RelayDial made(std::move(socket), {token, ends}, address_text(relay.host(), relay.port()));
  if (connect(made.socket_.get(), relay.get(), relay.size) != 0 && errno != EINPROGRESS)
    made.connect_error_ = errno;
  return made;
}

pollfd RelayDial::polled() const {
  if (!connected_) return {socket_.get(), POLLOUT, 0};
  const int events = sent_ < hello_.size() ? POLLIN | POLLOUT : POLLIN;
  return {socket_.get(), static_cast<short>(events), 0};
}

Result<bool> RelayDial::advance() {
  if (!connected_) {
    auto checked = check_connected();
    if (!checked) return checked.error();
    if (!connected_) return false;
  }
  auto sent = send_hello();
  if (!sent) return sent.error();
  return read_answer();
}

/// Sets `connected_` if TCP is connected.
Result<void> RelayDial::check_connected() {
  socklen_t size = sizeof(connect_error_);
  if (connect_error_ == 0) getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &connect_error_, &size);
  if (connect_error_ != 0) return failed(std::strerror(connect_error_));
  pollfd state{socket_.get(), POLLOUT, 0};
  connected_ = poll(&state, 1, 0) > 0;
  return {};
}

Result<void> RelayDial::send_hello() {
  while (sent_ < hello_.size()) {
    const ssize_t count = send(socket_.get(), hello_.data() + sent_, hello_.size() - sent_,
                               MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0) return would_block(errno) ? Result<void>() : failed(std::strerror(errno));
    sent_ += static_cast<std::size_t>(count);
  }
  return {};
}

Result<bool> RelayDial::read_answer() {
  while (received_ < answer_.size()) {
    const ssize_t count =
        recv(socket_.get(), answer_.data() + received_, answer_.size() - received_, MSG_DONTWAIT);
    if (count < 0) return would_block(errno) ? Result<bool>(false) : failed(std::strerror(errno));
    if (count == 0) return failed("it closed the connection; its own messages say why");
    received_ += static_cast<std::size_t>(count);
  }
  auto checked = check_relay_answer(answer_);
  if (checked) return true;
  return Error{checked.error().kind,
               fmt::format("the relay at {}: {}", relay_, checked.error().text)};
}

}  // namespace impishim::wire
