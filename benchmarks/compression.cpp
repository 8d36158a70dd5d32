// SPDX-License-Identifier: Apache-2.0
// What zstd and lz4 make of captured bytes, and how long they take: bench_compression [--pieces]
// FILE..., one file for each connection of a direction, as benchmarks/capture.py writes them:
// pieces of a length (4 bytes, lowest first) and so many bytes, each what one TCP segment carried.
// Prints one line of JSON for each way to compress. Times are processor time of this thread, since
// other programs may want the processor, and medians of five rounds.
#include <lz4.h>
#include <time.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Bytes = std::span<const char>;

constexpr int kRounds = 5;
constexpr std::size_t kBlock = 65536;
// A piece that shrinks by less than a tenth would be sent as it is.
constexpr double kWorthSending = 0.9;

[[noreturn]] void fail(std::string_view text) {
  std::fprintf(stderr, "bench_compression: %.*s\n", static_cast<int>(text.size()), text.data());
  std::exit(1);
}

/// The bytes of one connection in one direction, and where its TCP segments end.
struct Stream {
  std::vector<char> bytes;
  std::vector<std::size_t> segments;  ///< their sizes
};

Stream read_stream(const char* path) {
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

/// Cuts a stream into pieces of `size` bytes, or into its segments if `size` is 0.
std::vector<Bytes> cut(const Stream& stream, std::size_t size) {
  std::vector<Bytes> pieces;
  const Bytes all(stream.bytes);
  if (size == 0) {
    std::size_t at = 0;
    for (const std::size_t segment : stream.segments) {
      pieces.push_back(all.subspan(at, segment));
      at += segment;
    }
    return pieces;
  }
  for (std::size_t at = 0; at < all.size(); at += size)
    pieces.push_back(all.subspan(at, std::min(size, all.size() - at)));
  return pieces;
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

std::size_t checked(std::size_t result) {
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

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Returns the median of the processor seconds that `work` takes.
double time_of(const std::function<void()>& work) {
  std::array<double, kRounds> times{};
  for (double& each : times) {
    const double began = processor_seconds();
    work();
    each = processor_seconds() - began;
  }
  std::ranges::sort(times);
  return times[kRounds / 2];
}

/// All pieces of a direction with their compressed forms.
class Trial {
 public:
  Trial(const std::vector<Stream>& streams, std::size_t size, Codec& codec) : codec_(codec) {
    std::size_t room = 0;
    std::size_t longest = 0;
    for (const Stream& stream : streams) {
      pieces_.push_back(cut(stream, size));
      for (const Bytes& piece : pieces_.back()) {
        room += codec.bound(piece.size());
        longest = std::max(longest, piece.size());
      }
    }
    arena_.resize(room);
    back_.resize(longest);
  }

  /// Measures, checks that all bytes come back, and prints a line.
  void run(std::string_view name) {
    const double compressing = time_of([this] { compress(); });
    // Where the bytes come back to is overwritten by each piece, as a staging area is.
    const double decompressing = time_of([this] { decompress(false); });
    decompress(true);
    print(name, compressing, decompressing);
  }

 private:
  void compress() {
    compressed_.clear();
    std::span<char> room(arena_);
    for (const std::vector<Bytes>& pieces : pieces_) {
      codec_.restart();
      for (const Bytes& piece : pieces) {
        const std::size_t size =
            codec_.compress(piece, room.subspan(0, codec_.bound(piece.size())));
        compressed_.push_back(Bytes(room.subspan(0, size)));
        room = room.subspan(size);
      }
    }
  }

  void decompress(bool checks) {
    auto next = compressed_.begin();
    for (const std::vector<Bytes>& pieces : pieces_) {
      codec_.restart();
      for (const Bytes& piece : pieces) {
        const std::span<char> back(back_.data(), piece.size());
        codec_.decompress(*next++, back);
        if (checks && !std::ranges::equal(piece, back)) fail("other bytes came back");
      }
    }
  }

  void print(std::string_view name, double compressing, double decompressing) const {
    std::size_t count = 0;
    std::size_t worth_count = 0;
    double bytes = 0;
    double small = 0;
    double adaptive = 0;
    double worth_bytes = 0;
    auto next = compressed_.begin();
    for (const std::vector<Bytes>& pieces : pieces_) {
      for (const Bytes& piece : pieces) {
        const auto before = static_cast<double>(piece.size());
        const auto after = static_cast<double>(next++->size());
        const bool worth = after < kWorthSending * before;
        ++count;
        worth_count += worth ? 1 : 0;
        worth_bytes += worth ? before : 0;
        bytes += before;
        small += after;
        adaptive += worth ? after : before;
      }
    }
    std::printf(
        "{\"way\": \"%.*s\", \"pieces\": %zu, \"bytes\": %.0f, \"ratio\": %.4f, "
        "\"adaptive_ratio\": %.4f, \"worth_pieces\": %.4f, \"worth_bytes\": %.4f, "
        "\"compress_s\": %.6f, \"decompress_s\": %.6f, \"memory\": %zu}\n",
        static_cast<int>(name.size()), name.data(), count, bytes, small / bytes, adaptive / bytes,
        static_cast<double>(worth_count) / static_cast<double>(count), worth_bytes / bytes,
        compressing, decompressing, codec_.memory());
    std::fflush(stdout);
  }

  Codec& codec_;
  std::vector<std::vector<Bytes>> pieces_;  ///< for each stream
  std::vector<char> arena_;
  std::vector<char> back_;
  std::vector<Bytes> compressed_;
};

void try_ways(const std::vector<Stream>& streams) {
  for (const std::size_t size : {kBlock, std::size_t{0}}) {
    const std::string cutting = size == 0 ? "segments" : "blocks";
    ZstdBlocks blocks(1);
    Trial(streams, size, blocks).run("zstd 1, " + cutting);
    ZstdStream stream(1);
    Trial(streams, size, stream).run("zstd 1, " + cutting + ", stream");
  }
  for (const int level : {-1, -3, -5}) {
    ZstdBlocks blocks(level);
    Trial(streams, kBlock, blocks).run("zstd " + std::to_string(level) + ", blocks");
  }
  Lz4Blocks lz4;
  Trial(streams, kBlock, lz4).run("lz4 1, blocks");
}

/// What one message costs: pieces of a message's payload and its header, one after the other.
void try_pieces(const std::vector<Stream>& streams) {
  constexpr std::size_t kHeader = 128;
  for (const std::size_t payload : {8, 64, 512, 1024, 4096, 16384, 65536}) {
    ZstdStream stream(1);
    Trial(streams, payload + kHeader, stream).run(std::to_string(payload));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool pieces = argc > 1 && std::string_view(argv[1]) == "--pieces";
  std::vector<Stream> streams;
  for (int each = pieces ? 2 : 1; each < argc; ++each) streams.push_back(read_stream(argv[each]));
  if (streams.empty()) fail("no files");
  if (pieces)
    try_pieces(streams);
  else
    try_ways(streams);
}
