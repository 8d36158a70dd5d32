// SPDX-License-Identifier: Apache-2.0
#include "wire/check/line.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "wire/base/bytes.hpp"
#include "wire/base/result.hpp"

namespace impishim::check {

/// Sleeps until the channel may have something to read, or room for output if `for_room`.
Result<void> Line::wait(bool for_room, Clock::time_point until) {
  // A channel that cannot report room is asked again after this time.
  constexpr std::chrono::milliseconds kLongest{100};
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
  if (left.count() <= 0)
    return Error{ErrorKind::kTimeout,
                 fmt::format("{} has neither sent nor taken anything for {:.1f} s",
                             channel_->peer_name(), static_cast<double>(patience_.count()) / 1e3)};
  channel_->set_want_output(for_room);
  if (channel_->prepare_to_sleep()) {
    const std::uint32_t events = channel_->epoll_events();
    pollfd polled{channel_->descriptor(), 0, 0};
    if ((events & EPOLLIN) != 0) polled.events |= POLLIN;
    if ((events & EPOLLOUT) != 0) polled.events |= POLLOUT;
    const int status = poll(&polled, 1, static_cast<int>(std::min(left, kLongest).count()));
    if (status < 0 && errno != EINTR) {
      const int error = errno;
      channel_->end_sleep();
      return Error{ErrorKind::kSystem, fmt::format("poll failed: {}", std::strerror(error))};
    }
  }
  channel_->end_sleep();
  return {};
}

Result<void> Line::send(std::span<const std::byte> bytes) {
  auto until = Clock::now() + patience_;
  while (!bytes.empty()) {
    // iovec has no const.
    const iovec piece{const_cast<std::byte*>(bytes.data()), bytes.size()};
    auto sent = channel_->try_send({&piece, 1});
    if (!sent) return sent.error();
    bytes = bytes.subspan(*sent);
    if (*sent > 0) {
      until = Clock::now() + patience_;
      continue;
    }
    auto waited = wait(true, until);
    if (!waited) return waited;
  }
  channel_->set_want_output(false);
  return {};
}

Result<void> Line::receive(std::span<std::byte> bytes) {
  auto until = Clock::now() + patience_;
  while (!bytes.empty()) {
    const iovec piece{bytes.data(), bytes.size()};
    auto received = channel_->try_receive({&piece, 1});
    if (!received) return received.error();
    bytes = bytes.subspan(*received);
    if (*received > 0) {
      until = Clock::now() + patience_;
      continue;
    }
    auto waited = wait(false, until);
    if (!waited) return waited;
  }
  return {};
}

Result<void> Line::send_frame(std::span<const std::byte> bytes) {
  ByteWriter frame;
  frame.put(static_cast<std::uint32_t>(bytes.size()));
  frame.put_bytes(bytes);
  return send(frame.bytes());
}

Result<std::vector<std::byte>> Line::receive_frame(std::size_t limit) {
  std::array<std::byte, sizeof(std::uint32_t)> length{};
  auto received = receive(length);
  if (!received) return received.error();
  const auto size = load_big_endian<std::uint32_t>(length.data());
  if (size > limit)
    return Error{ErrorKind::kProtocol, fmt::format("{} has sent a message of {} bytes, and at most "
                                                   "{} belong there",
                                                   channel_->peer_name(), size, limit)};
  std::vector<std::byte> bytes(size);
  received = receive(bytes);
  if (!received) return received.error();
  return bytes;
}

}  // namespace impishim::check
