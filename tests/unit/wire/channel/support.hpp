// SPDX-License-Identifier: Apache-2.0
/// What the tests of channels share: byte patterns, and sending and receiving with sleeps as the
/// engine does them.
#pragma once

#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"

namespace impishim::wire::test {

/// Longer than anything awaited here takes on a loaded machine.
inline constexpr int kLongMs = 30000;

inline iovec piece(std::span<const std::byte> bytes) {
  // iovec serves reading and writing alike, so it has no const form.
  return {const_cast<std::byte*>(bytes.data()),
          bytes.size()};  // NOLINT(cppcoreguidelines-pro-type-const-cast)
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

/// Echoes `rounds` messages of 8 bytes over the two ends, each side asleep before every single one:
/// a lost wake-up ends in an error.
inline Result<void> echo_rounds(Channel& near, Channel& far, int rounds) {
  Result<void> echoed;
  std::thread echo([&] {
    std::array<std::byte, 8> bytes{};
    for (int i = 0; i < rounds && echoed.ok(); ++i) {
      echoed = receive_all(far, bytes);
      if (echoed.ok()) echoed = send_all(far, bytes);
    }
  });
  std::mt19937 random(11);
  Result<void> result;
  for (int i = 0; i < rounds && result.ok(); ++i) {
    std::array<std::byte, 8> bytes{};
    bytes[0] = static_cast<std::byte>(i);
    result = send_all(near, bytes);
    // Now and then give the other side the time to fall asleep first.
    if (random() % 8 == 0) std::this_thread::yield();
    std::array<std::byte, 8> back{};
    if (result.ok()) result = receive_all(near, back);
    if (result.ok() && back != bytes) result = Error{ErrorKind::kProtocol, "the echo differs"};
  }
  echo.join();
  return result.ok() ? echoed : result;
}

/// Sends a stream of 16 MiB that finds the channel full or empty most of the time, each side asleep
/// on room or bytes. The consumer answers the last byte: until then the sender has to serve its
/// end, since a channel may keep bytes that it has taken until there is room for them.
inline Result<void> stream_that_fills(Channel& near, Channel& far) {
  const auto there = random_bytes(16U << 20U, 12);
  std::vector<std::byte> got(there.size());
  Result<void> received;
  std::thread consumer([&] {
    std::mt19937 random(13);
    std::span<std::byte> rest = got;
    while (!rest.empty() && received.ok()) {
      const std::size_t size = std::min<std::size_t>(rest.size(), 1 + random() % 100000);
      received = receive_all(far, rest.first(size));
      rest = rest.subspan(size);
    }
    if (received.ok()) received = send_all(far, std::array{std::byte{1}});
  });
  std::mt19937 random(14);
  std::span<const std::byte> rest = there;
  Result<void> sent;
  while (!rest.empty() && sent.ok()) {
    const std::size_t size = std::min<std::size_t>(rest.size(), 1 + random() % 600000);
    sent = send_all(near, rest.first(size));
    rest = rest.subspan(size);
  }
  std::array<std::byte, 1> answer{};
  if (sent.ok()) sent = receive_all(near, answer);
  consumer.join();
  if (sent.ok() && received.ok() && got != there)
    return Error{ErrorKind::kProtocol, "the stream differs"};
  return sent.ok() ? received : sent;
}

/// One thread sleeps on `far`'s descriptor while another one polls `far`: the poller takes a
/// message and then looks often enough to take what was meant to wake the sleeper. Whether the next
/// message still makes the descriptor readable.
inline bool wakes_a_sleeper_beside_a_poller(Channel& near, Channel& far) {
  const std::array<std::byte, 1> message{};
  std::array<std::byte, 1> room{};
  const std::array<iovec, 1> pieces = {piece(room)};
  if (!far.prepare_to_sleep()) return false;
  const int asleep_on = far.descriptor();
  if (!send_all(near, message).ok() || !receive_all(far, room).ok()) return false;
  constexpr int kManyLooks = 20000;
  for (int i = 0; i < kManyLooks; ++i) {
    auto nothing = far.try_receive(pieces);
    if (!nothing.ok() || *nothing != 0) return false;
  }
  return send_all(near, message).ok() && readable(asleep_on, kLongMs);
}

}  // namespace impishim::wire::test
