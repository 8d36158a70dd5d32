// SPDX-License-Identifier: Apache-2.0
/// The frames of a resumable stream, beneath the packets of IMPI. Each frame begins with a header
/// of 16 bytes in big-endian order:
///
///     type:Uint4  size:Uint4  received:Uint8
///
/// `received` counts the bytes of the stream that the sender of the frame has received since the
/// stream began, over all connections. It acknowledges them: the peer may forget them.
///
/// | type | size | meaning |
/// | --- | --- | --- |
/// | kResume | 0 | first frame of each connection: the peer continues with byte `received` |
/// | kData | 1 to kMostFrame | `size` bytes of the stream follow |
/// | kAcknowledge | 0 | nothing but `received` |
/// | kEnd | 0 | the stream ends; only kAcknowledge may follow |
/// | kQuestion | 0 | the peer sends kAcknowledge at once |
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/base/result.hpp"

namespace impishim::wire {

enum class ResumeFrameType : std::uint32_t {
  kResume = 0x494d5201,
  kData = 0x494d5202,
  kAcknowledge = 0x494d5203,
  kEnd = 0x494d5204,
  kQuestion = 0x494d5205,
};

struct ResumeFrame {
  static constexpr std::size_t kHeaderSize = 16;
  /// Largest number of bytes behind a header.
  static constexpr std::uint32_t kMostFrame = 1U << 20U;

  ResumeFrameType type = ResumeFrameType::kAcknowledge;
  std::uint32_t size = 0;
  std::uint64_t received = 0;

  bool operator==(const ResumeFrame&) const = default;
};

using ResumeHeader = std::array<std::byte, ResumeFrame::kHeaderSize>;

[[nodiscard]] ResumeHeader encode_resume_frame(const ResumeFrame& frame);

/// Fails with kProtocol for an unknown type, or a size that the type does not allow.
[[nodiscard]] Result<ResumeFrame> decode_resume_frame(
    std::span<const std::byte, ResumeFrame::kHeaderSize> header);

}  // namespace impishim::wire
