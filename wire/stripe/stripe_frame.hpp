// SPDX-License-Identifier: Apache-2.0
/// The frames of a striped stream, which has several connections at once. Each frame begins with a
/// header of 24 bytes in big-endian order:
///
///     type:Uint4  size:Uint4  received:Uint8  place:Uint8
///
/// `received` counts the bytes of the stream that the sender of the frame has received in order,
/// over all connections. It acknowledges them. It never shrinks on one connection; frames of
/// different connections may overtake each other.
///
/// | type | size | place | meaning |
/// | --- | --- | --- | --- |
/// | kResume | 0 | 0 | first frame of each connection |
/// | kData | 1 to kMostFrame | position of the first byte | `size` bytes of the stream follow |
/// | kAcknowledge | 0 | 0 | nothing but `received` |
/// | kEnd | 0 | bytes of the whole stream, or 0 | the stream ends; with 0, where the receiver is |
/// | kQuestion | 0 | 0 | the peer sends kAcknowledge at once |
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/base/result.hpp"

namespace impishim::wire {

enum class StripeFrameType : std::uint32_t {
  kResume = 0x494d5211,
  kData = 0x494d5212,
  kAcknowledge = 0x494d5213,
  kEnd = 0x494d5214,
  kQuestion = 0x494d5215,
};

struct StripeFrame {
  static constexpr std::size_t kHeaderSize = 24;
  /// Largest number of bytes behind a header. It bounds what waits on a slow connection.
  static constexpr std::uint32_t kMostFrame = 1U << 16U;

  StripeFrameType type = StripeFrameType::kAcknowledge;
  std::uint32_t size = 0;
  std::uint64_t received = 0;
  std::uint64_t place = 0;

  bool operator==(const StripeFrame&) const = default;
};

using StripeHeader = std::array<std::byte, StripeFrame::kHeaderSize>;

[[nodiscard]] StripeHeader encode_stripe_frame(const StripeFrame& frame);

/// Fails with kProtocol for an unknown type, or a size or a place that the type does not allow.
[[nodiscard]] Result<StripeFrame> decode_stripe_frame(
    std::span<const std::byte, StripeFrame::kHeaderSize> header);

}  // namespace impishim::wire
