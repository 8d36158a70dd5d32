// SPDX-License-Identifier: Apache-2.0
/// The pieces that a compressed stream is made of. Each has a header of two words in big-endian
/// order:
///
///     kind << 24 | carried   the kind, and the number of bytes that follow the header
///     plain                  the number of bytes of the stream that they stand for, 1 to 65536
///
/// A plain piece carries bytes as they are. The others carry what zstd writes when it is flushed:
/// of a new frame (kFirst), or of the one before. Plain pieces are not part of zstd's frames, so
/// they change no window.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/base/bytes.hpp"
#include "wire/base/result.hpp"

namespace impishim::wire {

enum class PieceKind : std::uint8_t {
  kPlain = 0x50,
  kFirst = 0x51,  ///< compressed, with a new window
  kNext = 0x52,   ///< compressed, with the window of the compressed piece before it
};

struct Piece {
  static constexpr std::size_t kHeaderSize = 8;
  static constexpr std::uint32_t kMostPlain = 1U << 16U;

  PieceKind kind = PieceKind::kPlain;
  std::uint32_t carried = 0;
  std::uint32_t plain = 0;
};

using PieceHeader = std::array<std::byte, Piece::kHeaderSize>;

[[nodiscard]] inline PieceHeader encode_piece_header(const Piece& piece) {
  constexpr unsigned kKindShift = 24;
  PieceHeader header;
  store_big_endian(header.data(),
                   static_cast<std::uint32_t>(piece.kind) << kKindShift | piece.carried);
  store_big_endian(header.data() + sizeof(std::uint32_t), piece.plain);
  return header;
}

/// Fails with kProtocol if there can be no such piece. A compressed one is always shorter than what
/// it stands for.
[[nodiscard]] Result<Piece> decode_piece_header(
    std::span<const std::byte, Piece::kHeaderSize> from);

}  // namespace impishim::wire
