// SPDX-License-Identifier: Apache-2.0
#include "wire/compress/piece_encoder.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "wire/base/result.hpp"
#include "wire/compress/piece.hpp"
#include "wire/compress/zstd_library.hpp"

namespace impishim::wire {

Result<std::size_t> PieceEncoder::compress(std::span<const std::span<const std::byte>> parts,
                                           std::size_t size, std::span<std::byte> room) {
  constexpr std::size_t kLeastGain = 10;  // a tenth
  if (!compressor_) {
    auto made = ZstdCompressor::make();
    if (!made) return made.error();
    compressor_ = std::move(*made);
  }
  const std::size_t most = size - (size + kLeastGain - 1) / kLeastGain;
  const std::size_t carried = compressor_->compress(parts, room.subspan(Piece::kHeaderSize, most));
  if (carried == 0) {
    compressor_->begin();
    begins_ = true;
    return std::size_t{0};
  }
  const auto header =
      encode_piece_header({begins_ ? PieceKind::kFirst : PieceKind::kNext,
                           static_cast<std::uint32_t>(carried), static_cast<std::uint32_t>(size)});
  std::ranges::copy(header, room.begin());
  begins_ = false;
  return Piece::kHeaderSize + carried;
}

}  // namespace impishim::wire
