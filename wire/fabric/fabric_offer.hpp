/// What the two ends of a connected socket tell each other before they go over to libfabric, and
/// while they sleep. No sockets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "wire/base/result.hpp"

namespace impishim::wire {

/// How to reach a process by libfabric. On the socket: magic:Uint4, length:Uint4, then length
/// bytes.
struct FabricOffer {
  static constexpr std::size_t kHeadSize = 8;
  static constexpr std::size_t kMaxSize = 4096;

  std::string provider;  ///< empty: no, and `reason` says why
  std::string reason;    ///< of a refusal
  std::uint32_t protocol =
      0;  ///< of the provider (fi_endpoint(3)), which must be the same at both ends
  std::uint32_t protocol_version = 0;  ///< likewise
  std::uint32_t channel = 0;           ///< the peer puts both into each message
  std::uint32_t secret = 0;
  std::uint32_t message_size = 0;  ///< largest message that is received, with its header
  std::uint32_t credits = 0;       ///< messages that may be under way to this end
  std::vector<std::byte> address;  ///< fi_getname()

  [[nodiscard]] std::vector<std::byte> encode() const;
  /// Bytes that follow a head. kProtocol: not ours, or too long.
  [[nodiscard]] static Result<std::size_t> length_after(std::span<const std::byte, kHeadSize> head);
  /// What followed the head. kProtocol: cut, or values that cannot be.
  [[nodiscard]] static Result<FabricOffer> decode(std::span<const std::byte> rest);
};

/// A word on the guarding socket, after the offers.
struct GuardWord {
  enum class Kind : std::uint32_t {
    kReached = 1,     ///< messages pass both ways
    kNotReached = 2,  ///< they do not: the channel stays on the socket
    kAsleep = 3,      ///< the sender sleeps; `number`: messages that it has taken in
    kWake = 4,        ///< there is news for the sleeper
  };
  static constexpr std::size_t kSize = 8;

  Kind kind = Kind::kReached;
  std::uint32_t number = 0;

  [[nodiscard]] std::array<std::byte, kSize> encode() const;
  /// kProtocol: no such word.
  [[nodiscard]] static Result<GuardWord> decode(std::span<const std::byte, kSize> bytes);
};

/// What begins each message of a fabric channel.
struct FabricHeader {
  enum class Kind : std::uint8_t {
    kHello,    ///< the first one: the ends reach each other
    kData,     ///< bytes of the stream; the only kind that takes a credit
    kCredits,  ///< nothing but returned credits
    kEnd,      ///< of the stream
  };
  static constexpr std::size_t kSize = 16;

  std::uint32_t channel = 0;
  std::uint32_t secret = 0;
  std::uint32_t sequence = 0;  ///< counts the messages of a channel
  std::uint16_t credits = 0;   ///< returned to the receiver
  Kind kind = Kind::kHello;

  void encode(std::byte* at) const;
  /// `bytes` holds at least kSize; kinds that are unknown are the receiver's to refuse.
  [[nodiscard]] static FabricHeader decode(const std::byte* at);
};

}  // namespace impishim::wire
