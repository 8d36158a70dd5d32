// SPDX-License-Identifier: Apache-2.0
/// The receiving end of a stream of pieces (piece.hpp). It believes nothing that the peer says: no
/// piece makes it use more memory than its buffers and zstd's window.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "wire/base/linear_buffer.hpp"
#include "wire/base/result.hpp"
#include "wire/compress/piece.hpp"
#include "wire/compress/zstd_library.hpp"

namespace impishim::wire {

/// Use: write what comes from the peer to input_room(), call add_input(), then read(). Not
/// thread-safe.
class PieceDecoder {
 public:
  /// Room for input: several whole pieces.
  static constexpr std::size_t kBufferSize = 4 * (Piece::kHeaderSize + Piece::kMostPlain);

  /// Returns memory for bytes from the peer. It is empty only while read() has something to return.
  [[nodiscard]] std::span<std::byte> input_room();
  void add_input(std::size_t size) { input_.add(size); }
  /// Returns true if read() may return something without more input. False is certain.
  [[nodiscard]] bool has_input() const;
  /// Returns true if the peer may end the stream here: no piece has begun.
  [[nodiscard]] bool between_pieces() const {
    return input_.empty() && !compressed_ && plain_left_ == 0 && ready_.empty();
  }
  /// Fills `pieces` in order, behind their first `skip` bytes, and returns the number of bytes; 0
  /// means that more input is needed. Fails with kProtocol for a piece that no encoder makes, and
  /// with kSystem if there is no memory; all later calls return the same error. Bytes before an
  /// error are returned first.
  [[nodiscard]] Result<std::size_t> read(std::span<const iovec> pieces, std::size_t skip = 0);

 private:
  [[nodiscard]] Result<std::size_t> read_some(std::span<std::byte> room);
  [[nodiscard]] Result<void> take_header();
  [[nodiscard]] Result<void> decompress();

  LinearBuffer input_{kBufferSize};
  std::optional<Piece> compressed_;                 ///< its bytes have not all arrived
  std::size_t plain_left_ = 0;                      ///< bytes of a plain piece that are to come
  std::unique_ptr<ZstdDecompressor> decompressor_;  ///< null before the first compressed piece
  std::unique_ptr<std::byte[]> memory_;             ///< for what it has decompressed
  std::span<const std::byte> ready_;                ///< what of it read() has not returned
  std::optional<Error> failure_;
};

}  // namespace impishim::wire
