// SPDX-License-Identifier: Apache-2.0
#include "wire/compress/zstd_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <zstd.h>

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "wire/base/result.hpp"

// The functions that are used, and the names of their pointers.
#define IMPISHIM_ZSTD_FUNCTIONS(APPLY)            \
  APPLY(compressor_new, ZSTD_createCCtx)          \
  APPLY(compressor_free, ZSTD_freeCCtx)           \
  APPLY(compressor_set, ZSTD_CCtx_setParameter)   \
  APPLY(compressor_reset, ZSTD_CCtx_reset)        \
  APPLY(compress, ZSTD_compressStream2)           \
  APPLY(decompressor_new, ZSTD_createDCtx)        \
  APPLY(decompressor_free, ZSTD_freeDCtx)         \
  APPLY(decompressor_set, ZSTD_DCtx_setParameter) \
  APPLY(decompressor_reset, ZSTD_DCtx_reset)      \
  APPLY(decompress, ZSTD_decompressStream)        \
  APPLY(is_error, ZSTD_isError)                   \
  APPLY(error_text, ZSTD_getErrorName)

namespace impishim::wire {
namespace {

constexpr const char* kLibrary = "libzstd.so.1";
/// A program may contain another zstd, and a library must not bind to the functions of that one.
/// Sanitizers do not allow RTLD_DEEPBIND.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kFlags = RTLD_NOW | RTLD_LOCAL;
#else
constexpr int kFlags = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
#endif

struct Zstd {
#define IMPISHIM_ZSTD_MEMBER(member, symbol) \
  decltype(&(symbol)) member = nullptr;  // NOLINT(bugprone-macro-parentheses)
  IMPISHIM_ZSTD_FUNCTIONS(IMPISHIM_ZSTD_MEMBER)
#undef IMPISHIM_ZSTD_MEMBER
};

Result<Zstd> open_library() {
  void* const library = dlopen(kLibrary, kFlags);
  if (library == nullptr) {
    return Error{ErrorKind::kConfiguration,
                 fmt::format("{} cannot be loaded ({}): install it (Debian: libzstd1)", kLibrary,
                             dlerror())};
  }
  Zstd it;
  const char* missing = nullptr;
#define IMPISHIM_ZSTD_FIND(member, symbol)                                    \
  it.member = reinterpret_cast<decltype(it.member)>(dlsym(library, #symbol)); \
  if (it.member == nullptr) missing = #symbol;
  IMPISHIM_ZSTD_FUNCTIONS(IMPISHIM_ZSTD_FIND)
#undef IMPISHIM_ZSTD_FIND
  if (missing == nullptr) return it;
  return Error{ErrorKind::kConfiguration,
               fmt::format("{} lacks {}: install zstd 1.4 or later", kLibrary, missing)};
}

const Result<Zstd>& zstd() {
  static const Result<Zstd> library = open_library();
  return library;
}

Error no_memory() { return {ErrorKind::kSystem, "there is no memory for a window of zstd"}; }

class Compressor final : public ZstdCompressor {
 public:
  Compressor(const Zstd& zstd, ZSTD_CCtx* context) : zstd_(zstd), context_(context) {
    zstd_.compressor_set(context_, ZSTD_c_compressionLevel, 1);
    zstd_.compressor_set(context_, ZSTD_c_windowLog, kZstdWindowLog);
    zstd_.compressor_set(context_, ZSTD_c_contentSizeFlag, 0);
  }
  ~Compressor() override { zstd_.compressor_free(context_); }

  [[nodiscard]] std::size_t compress(std::span<const std::span<const std::byte>> pieces,
                                     std::span<std::byte> room) override {
    ZSTD_outBuffer out{room.data(), room.size(), 0};
    for (const auto& piece : pieces)
      if (!put(piece, ZSTD_e_continue, out)) return 0;
    return put({}, ZSTD_e_flush, out) ? out.pos : 0;
  }
  void begin() override { zstd_.compressor_reset(context_, ZSTD_reset_session_only); }

 private:
  /// Returns false if the room is too small.
  [[nodiscard]] bool put(std::span<const std::byte> piece, ZSTD_EndDirective how,
                         ZSTD_outBuffer& out) {
    ZSTD_inBuffer in{piece.data(), piece.size(), 0};
    for (;;) {
      const std::size_t left = zstd_.compress(context_, &out, &in, how);
      if (zstd_.is_error(left) != 0) return false;
      const bool complete = how == ZSTD_e_flush ? left == 0 : in.pos == in.size;
      if (complete) return true;
      if (out.pos == out.size) return false;
    }
  }

  const Zstd& zstd_;
  ZSTD_CCtx* context_;
};

class Decompressor final : public ZstdDecompressor {
 public:
  Decompressor(const Zstd& zstd, ZSTD_DCtx* context) : zstd_(zstd), context_(context) {
    zstd_.decompressor_set(context_, ZSTD_d_windowLogMax, kZstdWindowLog);
  }
  ~Decompressor() override { zstd_.decompressor_free(context_); }

  [[nodiscard]] Result<std::size_t> decompress(std::span<const std::byte> piece,
                                               std::span<std::byte> room) override {
    ZSTD_inBuffer in{piece.data(), piece.size(), 0};
    ZSTD_outBuffer out{room.data(), room.size(), 0};
    // While there is room left, zstd has written all that it has decompressed.
    while (in.pos < in.size && out.pos < out.size) {
      const std::size_t left = zstd_.decompress(context_, &out, &in);
      if (zstd_.is_error(left) == 0) continue;
      return Error{ErrorKind::kProtocol, fmt::format("the peer sent a compressed piece that zstd "
                                                     "does not read: {}",
                                                     zstd_.error_text(left))};
    }
    if (in.pos == in.size) return out.pos;
    return Error{ErrorKind::kProtocol,
                 "the peer sent a compressed piece that is longer than it says"};
  }
  void begin() override { zstd_.decompressor_reset(context_, ZSTD_reset_session_only); }

 private:
  const Zstd& zstd_;
  ZSTD_DCtx* context_;
};

}  // namespace

Result<void> load_zstd() { return zstd() ? Result<void>() : zstd().error(); }

Result<std::unique_ptr<ZstdCompressor>> ZstdCompressor::make() {
  if (!zstd()) return zstd().error();
  ZSTD_CCtx* const context = zstd()->compressor_new();
  if (context == nullptr) return no_memory();
  return std::unique_ptr<ZstdCompressor>(std::make_unique<Compressor>(*zstd(), context));
}

Result<std::unique_ptr<ZstdDecompressor>> ZstdDecompressor::make() {
  if (!zstd()) return zstd().error();
  ZSTD_DCtx* const context = zstd()->decompressor_new();
  if (context == nullptr) return no_memory();
  return std::unique_ptr<ZstdDecompressor>(std::make_unique<Decompressor>(*zstd(), context));
}

}  // namespace impishim::wire
