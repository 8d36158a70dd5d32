// SPDX-License-Identifier: Apache-2.0
/// Captured bytes, and the ways to compress them that the programs of scripts/bench compression
/// try. Failures end the program.
#pragma once

#include <lz4.h>
#include <zstd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

using Bytes = std::span<const char>;

inline constexpr std::size_t kBlock = 65536;

[[noreturn]] inline void fail(std::string_view text) {
  std::fprintf(stderr, "compression: %.*s\n", static_cast<int>(text.size()), text.data());
  std::exit(1);
}

/// The bytes of one connection in one direction, and where its TCP segments end.
struct Stream {
  std::vector<char> bytes;
  std::vector<std::size_t> segments;  ///< their sizes
};

inline Stream read_stream(const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(std::string("cannot read ") + path);
  const std::vector<char> content{std::istreambuf_iterator<char>(file), {}};
  Stream found;
  for (std::size_t at = 0; at < content.size();) {
    std::uint32_t size = 0;
    if (content.size() - at < sizeof(size)) fail(std::string("no length at the end of ") + path);
    std::memcpy(&size, content.data() + at, sizeof(size));
    at += sizeof(size);
    if (content.size() - at < size) fail(std::string("too few bytes in ") + path);
    found.bytes.insert(found.bytes.end(), content.begin() + static_cast<std::ptrdiff_t>(at),
                       content.begin() + static_cast<std::ptrdiff_t>(at + size));
    found.segments.push_back(size);
    at += size;
  }
  return found;
}

/// A way to compress one piece after the other, and to get them back in the same order.
class Codec {
 public:
  Codec() = default;
  Codec(const Codec&) = delete;
  Codec& operator=(const Codec&) = delete;
  virtual ~Codec() = default;
  /// Forgets all pieces: a new connection begins.
  virtual void restart() {}
  /// Returns the size of the compressed piece in `out`, which has bound() bytes.
  virtual std::size_t compress(Bytes in, std::span<char> out) = 0;
  /// Fills `out`, which has the piece's size.
  virtual void decompress(Bytes in, std::span<char> out) = 0;
  /// Returns the bytes that both ends need for it, or 0 if that is not known.
  [[nodiscard]] virtual std::size_t memory() const { return 0; }
  [[nodiscard]] virtual std::size_t bound(std::size_t size) const {
    // A flushed piece of a stream has headers of its own.
    return ZSTD_compressBound(size) + 64;
  }
};

inline std::size_t checked(std::size_t result) {
  if (ZSTD_isError(result) != 0) fail(ZSTD_getErrorName(result));
  return result;
}

using Compressor = std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)>;
using Decompressor = std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)>;

/// Compresses each piece without the ones before it.
class ZstdBlocks : public Codec {
 public:
  explicit ZstdBlocks(int level) : level_(level) {}
  std::size_t compress(Bytes in, std::span<char> out) override {
    return checked(
        ZSTD_compressCCtx(compressor_.get(), out.data(), out.size(), in.data(), in.size(), level_));
  }
  void decompress(Bytes in, std::span<char> out) override {
    checked(ZSTD_decompressDCtx(decompressor_.get(), out.data(), out.size(), in.data(), in.size()));
  }

 private:
  int level_;
  Compressor compressor_{ZSTD_createCCtx(), ZSTD_freeCCtx};
  Decompressor decompressor_{ZSTD_createDCtx(), ZSTD_freeDCtx};
};

/// Compresses each piece with the window that the ones before it have left, and flushes it.
class ZstdStream : public Codec {
 public:
  explicit ZstdStream(int level) : level_(level) { ZstdStream::restart(); }
  void restart() override {
    checked(ZSTD_CCtx_reset(compressor_.get(), ZSTD_reset_session_only));
    checked(ZSTD_CCtx_setParameter(compressor_.get(), ZSTD_c_compressionLevel, level_));
    checked(ZSTD_DCtx_reset(decompressor_.get(), ZSTD_reset_session_only));
  }
  std::size_t compress(Bytes in, std::span<char> out) override {
    ZSTD_inBuffer from{in.data(), in.size(), 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    if (checked(ZSTD_compressStream2(compressor_.get(), &to, &from, ZSTD_e_flush)) != 0)
      fail("a piece was not flushed");
    return to.pos;
  }
  void decompress(Bytes in, std::span<char> out) override {
    ZSTD_inBuffer from{in.data(), in.size(), 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    while (from.pos < from.size || to.pos < to.size) {
      const std::size_t before = from.pos + to.pos;
      checked(ZSTD_decompressStream(decompressor_.get(), &to, &from));
      if (from.pos + to.pos == before) fail("a piece did not come back");
    }
  }
  [[nodiscard]] std::size_t memory() const override {
    return ZSTD_sizeof_CCtx(compressor_.get()) + ZSTD_sizeof_DCtx(decompressor_.get());
  }

 private:
  int level_;
  Compressor compressor_{ZSTD_createCCtx(), ZSTD_freeCCtx};
  Decompressor decompressor_{ZSTD_createDCtx(), ZSTD_freeDCtx};
};

class Lz4Blocks : public Codec {
 public:
  std::size_t compress(Bytes in, std::span<char> out) override {
    const int size =
        LZ4_compress_fast_extState(state_.data(), in.data(), out.data(),
                                   static_cast<int>(in.size()), static_cast<int>(out.size()), 1);
    if (size <= 0) fail("lz4 did not compress");
    return static_cast<std::size_t>(size);
  }
  void decompress(Bytes in, std::span<char> out) override {
    if (LZ4_decompress_safe(in.data(), out.data(), static_cast<int>(in.size()),
                            static_cast<int>(out.size())) != static_cast<int>(out.size()))
      fail("lz4 did not decompress");
  }
  [[nodiscard]] std::size_t bound(std::size_t size) const override {
    return static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(size)));
  }

 private:
  std::vector<char> state_ = std::vector<char>(static_cast<std::size_t>(LZ4_sizeofState()));
};
