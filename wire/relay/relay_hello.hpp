// SPDX-License-Identifier: Apache-2.0
/// The bytes that a host and the relay exchange before the relay passes on what two hosts send. No
/// sockets.
///
/// A host sends one hello: command, length, token, its own end and the other end. The relay
/// answers when the other end has sent its hello too: command, length, zero. All integers are
/// big-endian, and framed as the messages of startup (startup_message.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "wire/base/result.hpp"

namespace impishim::wire {

/// What the hosts of a job know and strangers do not.
using RelayToken = std::array<std::byte, 32>;

/// "RELY", the first four bytes of a hello and of an answer.
inline constexpr std::uint32_t kRelayCommand = 0x52454c59;
inline constexpr std::size_t kRelayHelloSize = 48;
inline constexpr std::size_t kRelayAnswerSize = 12;

/// The two ends of a connection: numbers of lanes of hosts.
struct RelayEnds {
  std::int32_t own = 0;    ///< of the host that sends the hello
  std::int32_t other = 0;  ///< of the host that it wants to be connected to
  bool operator==(const RelayEnds&) const = default;
  bool operator<(const RelayEnds& than) const {
    return own == than.own ? other < than.other : own < than.own;
  }
};

struct RelayHello {
  RelayToken token{};
  RelayEnds ends;
};

/// Returns success if the two ends may be connected. Fails with kProtocol if one is negative or if
/// they are equal; the text names them.
[[nodiscard]] Result<void> check_relay_ends(const RelayEnds& ends);

/// Returns the bytes of `hello`.
[[nodiscard]] std::array<std::byte, kRelayHelloSize> encode_relay_hello(const RelayHello& hello);

/// Returns the hello at the beginning of `bytes`, or nothing if more bytes are needed. Fails with
/// kProtocol as soon as the bytes cannot become a hello, and as check_relay_ends() does. The caller
/// checks the token.
[[nodiscard]] Result<std::optional<RelayHello>> decode_relay_hello(
    std::span<const std::byte> bytes);

/// Returns the bytes of the relay's answer.
[[nodiscard]] std::array<std::byte, kRelayAnswerSize> encode_relay_answer();

/// Returns success if `bytes` are the relay's answer. Fails with kProtocol otherwise.
[[nodiscard]] Result<void> check_relay_answer(std::span<const std::byte, kRelayAnswerSize> bytes);

}  // namespace impishim::wire
