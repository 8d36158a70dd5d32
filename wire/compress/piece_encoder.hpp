// SPDX-License-Identifier: Apache-2.0
/// The compressing end of a stream of pieces (piece.hpp).
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "wire/base/result.hpp"
#include "wire/compress/piece.hpp"
#include "wire/compress/zstd_library.hpp"

namespace impishim::wire {

/// Makes compressed pieces. Plain ones need no state. Not thread-safe.
class PieceEncoder {
 public:
  /// Writes the compressed piece of `parts`, whose bytes are `size` in all, 1 to Piece::kMostPlain,
  /// to `room`, which has at least Piece::kHeaderSize + size bytes. Returns its size with the
  /// header, or 0 if it would not be a tenth shorter than `size`: then send the bytes plain. Fails
  /// like ZstdCompressor::make().
  [[nodiscard]] Result<std::size_t> compress(std::span<const std::span<const std::byte>> parts,
                                             std::size_t size, std::span<std::byte> room);

 private:
  std::unique_ptr<ZstdCompressor> compressor_;  ///< null before the first piece
  bool begins_ = true;                          ///< the next piece has a new window
};

}  // namespace impishim::wire
