// SPDX-License-Identifier: Apache-2.0
/// The messages that the two ends of a connected socket exchange before they switch to libfabric,
/// and while they sleep. This file uses no sockets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "wire/base/result.hpp"

namespace impishim::wire {

/// The way to reach a process through libfabric. On the socket: magic:Uint4, length:Uint4, then
/// length bytes.
struct FabricOffer {
  static constexpr std::size_t kHeadSize = 8;
  static constexpr std::size_t kMaxSize = 4096;

  std::string provider;  ///< empty: a refusal; `reason` says why
  std::string reason;    ///< of a refusal
  std::uint32_t protocol =
      0;  ///< the provider's protocol (fi_endpoint(3)), which must be the same at both ends
  std::uint32_t protocol_version = 0;  ///< must also be the same at both ends
  std::uint32_t channel = 0;           ///< the peer puts this and `secret` into each message
  std::uint32_t secret = 0;
  std::uint32_t message_size = 0;  ///< largest message that this end receives, including its header
  std::uint32_t credits = 0;       ///< number of messages that may be in transit to this end
  std::vector<std::byte> address;  ///< fi_getname()

  [[nodiscard]] std::vector<std::byte> encode() const;
  /// Returns the number of bytes that follow a head. Fails with kProtocol if the head is not ours
  /// or the number is too large.
  [[nodiscard]] static Result<std::size_t> length_after(std::span<const std::byte, kHeadSize> head);
  /// Decodes the bytes after the head. Fails with kProtocol if they are cut or contain impossible
  /// values.
  [[nodiscard]] static Result<FabricOffer> decode(std::span<const std::byte> rest);
};

/// A control message (word) on the guard socket, after the offers.
struct GuardWord {
  enum class Kind : std::uint32_t {
    kReached = 1,     ///< messages pass in both directions
    kNotReached = 2,  ///< messages do not pass: the channel stays on the socket
    kAsleep =
        3,  ///< the sender of the word sleeps; `number` is the number of messages it has received
    kWake = 4,  ///< there is something new for the sleeper
  };
  static constexpr std::size_t kSize = 8;

  Kind kind = Kind::kReached;
  std::uint32_t number = 0;

  [[nodiscard]] std::array<std::byte, kSize> encode() const;
  /// Fails with kProtocol if there is no such word.
  [[nodiscard]] static Result<GuardWord> decode(std::span<const std::byte, kSize> bytes);
};

/// The header of each message of a fabric channel.
struct FabricHeader {
  enum class Kind : std::uint8_t {
    kHello,    ///< the first message: shows that the ends reach each other
    kData,     ///< bytes of the stream; the only kind that uses a credit
    kCredits,  ///< only returned credits
    kEnd,      ///< the end of the stream
  };
  static constexpr std::size_t kSize = 16;

  std::uint32_t channel = 0;
  std::uint32_t secret = 0;
  std::uint32_t sequence = 0;  ///< counts the messages of a channel
  std::uint16_t credits = 0;   ///< returned to the receiver of this message
  Kind kind = Kind::kHello;

  void encode(std::byte* at) const;
  /// Decodes `bytes`, which hold at least kSize bytes. The caller must reject unknown kinds.
  [[nodiscard]] static FabricHeader decode(const std::byte* at);
};

}  // namespace impishim::wire
