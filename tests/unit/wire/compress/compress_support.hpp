// SPDX-License-Identifier: Apache-2.0
/// Bytes that zstd shortens, and bytes that it does not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "wire/compress/piece.hpp"
#include "wire/compress/piece_encoder.hpp"

namespace impishim::wire::test {

using Bytes = std::vector<std::byte>;

/// Returns bytes of which about a half is left.
inline Bytes smooth_bytes(std::size_t size, std::uint32_t seed = 1) {
  constexpr unsigned kLetters = 16;
  std::mt19937 random(seed);
  Bytes bytes(size);
  for (std::byte& each : bytes) each = static_cast<std::byte>(random() % kLetters);
  return bytes;
}

inline Bytes random_bytes(std::size_t size, std::uint32_t seed = 1) {
  std::mt19937 random(seed);
  Bytes bytes(size);
  for (std::byte& each : bytes) each = static_cast<std::byte>(random());
  return bytes;
}

inline void append(Bytes& to, std::span<const std::byte> bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

/// Appends the header and these bytes.
inline void append_piece(Bytes& to, const Piece& piece, std::span<const std::byte> carried) {
  append(to, encode_piece_header(piece));
  append(to, carried);
}

inline void append_plain(Bytes& to, std::span<const std::byte> bytes) {
  const auto size = static_cast<std::uint32_t>(bytes.size());
  append_piece(to, {PieceKind::kPlain, size, size}, bytes);
}

/// Appends a compressed piece. Returns false if the bytes do not shrink.
inline bool append_compressed(Bytes& to, PieceEncoder& encoder, std::span<const std::byte> bytes) {
  Bytes room(Piece::kHeaderSize + bytes.size());
  const auto size = encoder.compress({&bytes, 1}, bytes.size(), room).value();
  append(to, std::span(room).first(size));
  return size > 0;
}

}  // namespace impishim::wire::test
