// SPDX-License-Identifier: Apache-2.0
#include "wire/port/conversation.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "wire/base/bytes.hpp"
#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/tcp_options.hpp"

namespace impishim::wire {
namespace {

using Length = std::array<std::byte, sizeof(std::uint64_t)>;

Error lost(int error) {
  return {ErrorKind::kConnection,
          error == 0
              ? "the process at the other end of the port has closed the connection"
              : fmt::format("the connection over the port has failed: {}", std::strerror(error))};
}

/// Waits until the socket is ready for `events`. Returns false if that fails, and sets errno.
bool await(int socket, short events, int timeout_ms) {
  pollfd polled{socket, events, 0};
  for (;;) {
    const int ready = poll(&polled, 1, timeout_ms);
    if (ready > 0) return true;
    if (ready == 0) errno = ETIMEDOUT;
    if (errno != EINTR) return false;
  }
}

}  // namespace

Conversation::Conversation(Descriptor socket, bool accepted)
    : socket_(std::move(socket)), accepted_(accepted) {
  set_tcp_options(socket_.get());
}

Result<void> Conversation::send_all(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    } else if (!would_block(errno) || !await(socket_.get(), POLLOUT, timeout_ms_)) {
      return lost(errno);
    }
  }
  return {};
}

Result<void> Conversation::receive_all(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const auto came = recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (came == 0) return lost(0);
    if (came > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(came));
    } else if (!would_block(errno) || !await(socket_.get(), POLLIN, timeout_ms_)) {
      return lost(errno);
    }
  }
  return {};
}

Result<void> Conversation::send(std::span<const std::byte> message) {
  Length length{};
  store_big_endian(length.data(), static_cast<std::uint64_t>(message.size()));
  auto sent = send_all(length);
  return sent ? send_all(message) : sent;
}

Result<std::vector<std::byte>> Conversation::receive() {
  Length length{};
  auto received = receive_all(length);
  if (!received) return received.error();
  const auto size = load_big_endian<std::uint64_t>(length.data());
  if (size > kLongest)
    return Error{ErrorKind::kProtocol,
                 "a message over a port is longer than any that this library sends"};
  std::vector<std::byte> message(size);
  received = receive_all(message);
  if (!received) return received.error();
  return message;
}

}  // namespace impishim::wire
