// SPDX-License-Identifier: Apache-2.0
#include "wire/relay/relay_direction.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>

#include "wire/base/assert.hpp"
#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"

namespace impishim::wire {
namespace {

msghdr message_of(std::array<iovec, 2>& pieces) {
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = pieces[1].iov_len == 0 ? 1 : 2;
  return message;
}

bool may_pass(int error) {
  return impishim::would_block(error) || error == ENOBUFS || error == ENOMEM;
}

Error socket_failure(int error) { return {ErrorKind::kConnection, std::strerror(error)}; }

}  // namespace

RelayDirection::RelayDirection(std::size_t capacity)
    : bytes_(std::make_unique_for_overwrite<std::byte[]>(capacity)), capacity_(capacity) {}

/// Returns the `size` bytes from `begin`, which may run past the end of the ring.
std::array<iovec, 2> RelayDirection::pieces(std::size_t begin, std::size_t size) {
  begin %= capacity_;
  const std::size_t first = std::min(size, capacity_ - begin);
  return {{{&bytes_[begin], first}, {bytes_.get(), size - first}}};
}

void RelayDirection::put(std::span<const std::byte> bytes) {
  IMPISHIM_ASSERT(bytes.size() <= capacity_ - size_);
  const std::size_t count = bytes.size();
  for (const iovec& piece : pieces(begin_ + size_, count)) {
    if (piece.iov_len != 0) std::memcpy(piece.iov_base, bytes.data(), piece.iov_len);
    bytes = bytes.subspan(piece.iov_len);
  }
  size_ += count;
}

Result<std::size_t> RelayDirection::read_from(int socket) {
  if (!wants_input()) return std::size_t{0};
  auto room = pieces(begin_ + size_, capacity_ - size_);
  msghdr message = message_of(room);
  const ssize_t count = recvmsg(socket, &message, MSG_DONTWAIT);
  if (count < 0) return may_pass(errno) ? Result<std::size_t>(0) : socket_failure(errno);
  ended_ = count == 0;
  size_ += static_cast<std::size_t>(count);
  return static_cast<std::size_t>(count);
}

Result<void> RelayDirection::write_to(int socket) {
  if (size_ > 0) {
    auto content = pieces(begin_, size_);
    const msghdr message = message_of(content);
    const ssize_t count = sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0) return may_pass(errno) ? Result<void>() : socket_failure(errno);
    size_ -= static_cast<std::size_t>(count);
    // A ring that became empty begins anew: a pair with short messages touches few pages.
    begin_ = size_ == 0 ? 0 : (begin_ + static_cast<std::size_t>(count)) % capacity_;
  }
  if (size_ > 0 || !ended_ || done_) return {};
  // If it fails the socket has failed, and epoll tells that.
  shutdown(socket, SHUT_WR);
  done_ = true;
  return {};
}

}  // namespace impishim::wire
