/// What the tests of channels share: byte patterns, and sending and receiving with sleeps as the engine does them.
#pragma once

#include <poll.h>
#include <sys/epoll.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"

namespace impishim::wire::test {

/// Longer than anything awaited here takes on a loaded machine.
inline constexpr int kLongMs = 30000;

inline iovec piece(std::span<const std::byte> bytes) {
  // iovec serves reading and writing alike, so it has no const form.
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};  // NOLINT(cppcoreguidelines-pro-type-const-cast)
}

inline std::vector<std::byte> random_bytes(std::size_t size, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(size);
  for (auto& each : bytes) each = static_cast<std::byte>(random());
  return bytes;
}

inline bool readable(int descriptor, int timeout_ms) {
  pollfd state{descriptor, POLLIN, 0};
  return poll(&state, 1, timeout_ms) > 0;
}

/// Sleeps on the channel's descriptor as an owner does. False: nothing came in time.
inline bool sleep_on(Channel& channel) {
  bool woken = true;
  if (channel.prepare_to_sleep()) {
    const auto wanted = channel.epoll_events();
    short events = 0;
    if ((wanted & EPOLLIN) != 0) events |= POLLIN;
    if ((wanted & EPOLLOUT) != 0) events |= POLLOUT;
    pollfd state{channel.descriptor(), events, 0};
    woken = poll(&state, 1, kLongMs) > 0;
  }
  channel.end_sleep();
  return woken;
}

inline Error late() { return {ErrorKind::kTimeout, "nothing happened in time"}; }

/// Sends all of `bytes`, asleep while the channel is full.
inline Result<void> send_all(Channel& channel, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::array<iovec, 1> pieces = {piece(bytes)};
    auto sent = channel.try_send(pieces);
    if (!sent) return sent.error();
    bytes = bytes.subspan(*sent);
    if (*sent > 0) continue;
    channel.set_want_output(true);
    const bool woken = sleep_on(channel);
    channel.set_want_output(false);
    if (!woken) return late();
  }
  return {};
}

/// At least one byte, asleep until there is one.
inline Result<std::size_t> receive_some(Channel& channel, std::span<std::byte> room) {
  for (;;) {
    const std::array<iovec, 1> pieces = {piece(room)};
    auto received = channel.try_receive(pieces);
    if (!received || *received > 0) return received;
    if (!sleep_on(channel)) return late();
  }
}

/// Fills `room`, asleep while nothing has arrived.
inline Result<void> receive_all(Channel& channel, std::span<std::byte> room) {
  while (!room.empty()) {
    auto received = receive_some(channel, room);
    if (!received) return received.error();
    room = room.subspan(*received);
  }
  return {};
}

}  // namespace impishim::wire::test
