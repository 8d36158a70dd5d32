// SPDX-License-Identifier: Apache-2.0
#include "wire/port/join.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/packet/packet.hpp"
#include "wire/port/open_port.hpp"
#include "wire/port/port_name.hpp"

namespace impishim::wire {
namespace {

constexpr std::string_view kMagic = "impishim join 1\n";

/// What each end sends first. The end with the greater number opens the port.
struct Greeting {
  std::array<char, kMagic.size()> magic{};
  std::array<std::byte, 16> number{};
};

/// The name of the port, padded with zeros.
using NameField = std::array<char, 256>;

Error broken(ssize_t moved) {
  return {ErrorKind::kConnection,
          moved == 0 ? "the process at the other end of the socket has closed it"
                     : fmt::format("the socket has failed: {}", std::strerror(errno))};
}

/// Moves all bytes by `move`, read(2) or write(2), on a socket that may be non-blocking.
template <class Move>
Result<void> move_all(int socket, std::span<std::byte> bytes, short events, Move&& move) {
  while (!bytes.empty()) {
    const ssize_t moved = move(socket, bytes.data(), bytes.size());
    if (moved > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(moved));
    } else if (moved < 0 && (errno == EAGAIN || errno == EINTR)) {
      pollfd polled{socket, events, 0};
      static_cast<void>(poll(&polled, 1, -1));  // the next try tells its errors
    } else {
      return broken(moved);
    }
  }
  return {};
}

template <class Value>
Result<void> send_value(int socket, Value value) {
  return move_all(socket, std::as_writable_bytes(std::span(&value, 1)), POLLOUT,
                  [](int to, const void* data, std::size_t size) { return write(to, data, size); });
}

template <class Value>
Result<void> receive_value(int socket, Value& value) {
  return move_all(socket, std::as_writable_bytes(std::span(&value, 1)), POLLIN,
                  [](int from, void* data, std::size_t size) { return read(from, data, size); });
}

Result<PortConnection> open_and_accept(int socket, const HostId& address) {
  auto port = OpenPort::open(address);
  if (!port) return port.error();
  NameField field{};
  (*port)->name().text().copy(field.data(), field.size() - 1);
  auto sent = send_value(socket, field);
  if (!sent) return sent.error();
  auto accepted = (*port)->accept();
  if (!accepted) return accepted.error();
  return std::move(accepted->value());
}

Result<PortConnection> learn_and_connect(int socket) {
  NameField field{};
  auto received = receive_value(socket, field);
  if (!received) return received.error();
  field.back() = '\0';
  const auto name = PortName::parse(field.data());
  if (!name) return name.error();
  return connect_to_port(*name);
}

}  // namespace

Result<PortConnection> join_over(int socket, const HostId& address) {
  Greeting mine;
  Greeting theirs;
  std::ranges::copy(kMagic, mine.magic.begin());
  auto done = fill_with_random(mine.number);
  if (done) done = send_value(socket, mine);
  if (done) done = receive_value(socket, theirs);
  if (!done) return done.error();
  if (theirs.magic != mine.magic) {
    return Error{ErrorKind::kConfiguration,
                 "the process at the other end of the socket does not run this library: both "
                 "programs need it"};
  }
  return mine.number > theirs.number ? open_and_accept(socket, address) : learn_and_connect(socket);
}

}  // namespace impishim::wire
