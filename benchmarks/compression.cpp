// SPDX-License-Identifier: Apache-2.0
// What zstd and lz4 make of captured bytes, and how long they take: bench_compression [--pieces]
// FILE..., one file for each connection of a direction, as benchmarks/capture.py writes them:
// pieces of a length (4 bytes, lowest first) and so many bytes, each what one TCP segment carried.
// Prints one line of JSON for each way to compress. Times are processor time of this thread, since
// other programs may want the processor, and medians of five rounds.
#include <time.h>

#include <algorithm>
#include <array>
#include <functional>

#include "benchmarks/compression.hpp"

namespace {

constexpr int kRounds = 5;
// A piece that shrinks by less than a tenth would be sent as it is.
constexpr double kWorthSending = 0.9;

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
