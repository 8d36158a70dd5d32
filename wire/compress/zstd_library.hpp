// SPDX-License-Identifier: Apache-2.0
/// The two ends of a compressed stream, computed by zstd. The library is loaded when it is first
/// needed, so programs that do not compress never load it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "wire/base/result.hpp"

namespace impishim::wire {

/// Bytes of the stream that a compressed piece may refer to.
inline constexpr int kZstdWindowLog = 19;

/// Loads zstd. The first call takes some milliseconds. Thread-safe. Fails with kConfiguration if
/// the library is not installed, or if impishim was built without it.
[[nodiscard]] Result<void> load_zstd();

/// Compresses pieces of a stream, each with those before it as its window. Not thread-safe.
class ZstdCompressor {
 public:
  /// Fails like load_zstd(), and with kSystem if there is no memory.
  [[nodiscard]] static Result<std::unique_ptr<ZstdCompressor>> make();
  ZstdCompressor() = default;
  ZstdCompressor(const ZstdCompressor&) = delete;
  ZstdCompressor& operator=(const ZstdCompressor&) = delete;
  virtual ~ZstdCompressor() = default;

  /// Compresses `pieces`, which are parts of one piece of the stream, into `room`. Returns the
  /// number of bytes there, or 0 if there is too little room; then call begin() next.
  [[nodiscard]] virtual std::size_t compress(std::span<const std::span<const std::byte>> pieces,
                                             std::span<std::byte> room) = 0;
  /// Begins a new window. The other end must do so at the same piece.
  virtual void begin() = 0;
};

/// The other end. Not thread-safe.
class ZstdDecompressor {
 public:
  /// Fails like ZstdCompressor::make().
  [[nodiscard]] static Result<std::unique_ptr<ZstdDecompressor>> make();
  ZstdDecompressor() = default;
  ZstdDecompressor(const ZstdDecompressor&) = delete;
  ZstdDecompressor& operator=(const ZstdDecompressor&) = delete;
  virtual ~ZstdDecompressor() = default;

  /// Decompresses a piece. Never writes more than `room`, and returns the number of bytes there.
  /// Fails with kProtocol if the piece is damaged, needs a larger window, or has more bytes than
  /// there is room.
  [[nodiscard]] virtual Result<std::size_t> decompress(std::span<const std::byte> piece,
                                                       std::span<std::byte> room) = 0;
  /// Begins a new window.
  virtual void begin() = 0;
};

}  // namespace impishim::wire
