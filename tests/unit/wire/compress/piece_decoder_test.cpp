// SPDX-License-Identifier: Apache-2.0
#include "wire/compress/piece_decoder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>

#include "tests/unit/wire/compress/compress_support.hpp"
#include "wire/compress/piece.hpp"
#include "wire/compress/piece_encoder.hpp"

namespace impishim::wire {
namespace {

using test::append_compressed;
using test::append_piece;
using test::append_plain;
using test::Bytes;
using testing::HasSubstr;

/// Feeds `stream`, `at_once` bytes each time, and reads in calls of `room` bytes.
Result<Bytes> decoded(PieceDecoder& decoder, std::span<const std::byte> stream, std::size_t at_once,
                      std::size_t room) {
  Bytes all;
  Bytes memory(room);
  const iovec piece{memory.data(), memory.size()};
  for (;;) {
    auto got = decoder.read(std::span(&piece, 1));
    if (!got) return got.error();
    test::append(all, std::span(memory).first(*got));
    if (*got > 0) continue;
    if (stream.empty()) return all;
    const auto to = decoder.input_room();
    const std::size_t size = std::min({to.size(), at_once, stream.size()});
    EXPECT_GT(size, 0U);
    std::ranges::copy(stream.first(size), to.begin());
    decoder.add_input(size);
    stream = stream.subspan(size);
  }
}

std::string refused(const Bytes& stream) {
  PieceDecoder decoder;
  auto bytes = decoded(decoder, stream, stream.size(), 100);
  if (bytes) return "it is taken";
  EXPECT_EQ(bytes.error().kind, ErrorKind::kProtocol);
  EXPECT_TRUE(decoder.has_input());  // it says so again
  std::byte one{};
  const iovec piece{&one, 1};
  EXPECT_EQ(decoder.read(std::span(&piece, 1)).error().text, bytes.error().text);
  return bytes.error().text;
}

TEST(PieceDecoder, ReadsPiecesOfAllKindsHoweverTheyAreSplit) {
  PieceEncoder encoder;
  Bytes stream;
  Bytes expected;
  for (const std::size_t size : {1U, 7U, 511U, 512U, 4000U}) {
    const Bytes plain = test::random_bytes(size);
    append_plain(stream, plain);
    test::append(expected, plain);
    const Bytes smooth = test::smooth_bytes(600 + size, static_cast<std::uint32_t>(size));
    ASSERT_TRUE(append_compressed(stream, encoder, smooth));
    test::append(expected, smooth);
  }
  for (const std::size_t at_once :
       {std::size_t{1}, std::size_t{3}, std::size_t{8}, std::size_t{1000}, stream.size()}) {
    for (const std::size_t room : {std::size_t{1}, std::size_t{13}, std::size_t{100000}}) {
      PieceDecoder decoder;
      auto all = decoded(decoder, stream, at_once, room);
      ASSERT_TRUE(all.ok()) << all.error().text;
      ASSERT_EQ(*all, expected) << at_once << " " << room;
      EXPECT_TRUE(decoder.between_pieces());
    }
  }
}

TEST(PieceDecoder, ReadsStreamsThatAreSplitAtEveryByte) {
  PieceEncoder encoder;
  Bytes stream;
  const Bytes smooth = test::smooth_bytes(700);
  append_plain(stream, smooth);
  ASSERT_TRUE(append_compressed(stream, encoder, smooth));
  ASSERT_TRUE(append_compressed(stream, encoder, smooth));
  for (std::size_t first = 1; first < stream.size(); ++first) {
    PieceDecoder decoder;
    auto all = decoded(decoder, std::span(stream).first(first), first, 5000);
    ASSERT_TRUE(all.ok());
    auto rest = decoded(decoder, std::span(stream).subspan(first), stream.size(), 5000);
    ASSERT_TRUE(rest.ok());
    test::append(*all, *rest);
    ASSERT_EQ(all->size(), 3 * smooth.size()) << first;
    EXPECT_TRUE(std::ranges::equal(std::span(*all).last(smooth.size()), smooth));
  }
}

TEST(PieceDecoder, KeepsTheWindowBehindPlainPieces) {
  PieceEncoder encoder;
  const Bytes bytes = test::random_bytes(3000);
  Bytes doubled = bytes;
  test::append(doubled, bytes);
  Bytes stream;
  ASSERT_TRUE(append_compressed(stream, encoder, doubled));
  append_plain(stream, test::random_bytes(500, 3));
  const std::size_t before = stream.size();
  ASSERT_TRUE(append_compressed(stream, encoder, bytes));
  EXPECT_LT(stream.size() - before, 100U);  // it refers to the piece before
  PieceDecoder decoder;
  auto all = decoded(decoder, stream, stream.size(), 10000);
  ASSERT_TRUE(all.ok());
  EXPECT_TRUE(std::ranges::equal(std::span(*all).last(bytes.size()), bytes));
}

TEST(PieceDecoder, ReadsOnBehindBytesThatDidNotShrink) {
  PieceEncoder encoder;
  const Bytes smooth = test::smooth_bytes(5000);
  Bytes stream;
  ASSERT_TRUE(append_compressed(stream, encoder, smooth));
  EXPECT_FALSE(append_compressed(stream, encoder, test::random_bytes(5000)));
  ASSERT_TRUE(append_compressed(stream, encoder, smooth));
  PieceDecoder decoder;
  auto all = decoded(decoder, stream, stream.size(), 70000);
  ASSERT_TRUE(all.ok()) << all.error().text;
  EXPECT_EQ(all->size(), 2 * smooth.size());
}

TEST(PieceDecoder, RefusesHeadersThatAreNone) {
  const auto with = [](PieceKind kind, std::uint32_t carried, std::uint32_t plain) {
    Bytes stream;
    append_piece(stream, {kind, carried, plain}, Bytes(10));
    return refused(stream);
  };
  EXPECT_THAT(with(static_cast<PieceKind>(0), 5, 5), HasSubstr("the unknown kind 0x0"));
  EXPECT_THAT(with(static_cast<PieceKind>(0x53), 5, 5), HasSubstr("the unknown kind 0x53"));
  EXPECT_THAT(with(PieceKind::kPlain, 0, 0), HasSubstr("a piece of 0 bytes for 0"));
  EXPECT_THAT(with(PieceKind::kPlain, 5, 6), HasSubstr("a piece of 5 bytes for 6"));
  EXPECT_THAT(with(PieceKind::kPlain, 65537, 65537), HasSubstr("a piece of 65537 bytes"));
  EXPECT_THAT(with(PieceKind::kFirst, 0, 6), HasSubstr("a piece of 0 bytes for 6"));
  EXPECT_THAT(with(PieceKind::kFirst, 6, 6), HasSubstr("a piece of 6 bytes for 6"));
  EXPECT_THAT(with(PieceKind::kFirst, 10, 65537), HasSubstr("a piece of 10 bytes for 65537"));
  EXPECT_THAT(with(PieceKind::kNext, 10, 0x80000000U), HasSubstr("a piece of 10 bytes for"));
}

TEST(PieceDecoder, RefusesAPieceWithoutItsWindow) {
  Bytes stream;
  append_piece(stream, {PieceKind::kNext, 10, 100}, Bytes(10));
  EXPECT_THAT(refused(stream), HasSubstr("a piece without its window"));
}

TEST(PieceDecoder, RefusesWhatIsNotOfZstd) {
  Bytes stream;
  append_piece(stream, {PieceKind::kFirst, 10, 100}, test::random_bytes(10));
  EXPECT_THAT(refused(stream), HasSubstr("zstd does not read"));
}

/// Returns a compressed piece whose header says other sizes.
Bytes with_plain(std::size_t size, std::int64_t change) {
  PieceEncoder encoder;
  Bytes stream;
  append_compressed(stream, encoder, Bytes(size));
  auto piece = decode_piece_header(std::span(stream).first<Piece::kHeaderSize>()).value();
  piece.plain = static_cast<std::uint32_t>(piece.plain + change);
  std::ranges::copy(encode_piece_header(piece), stream.begin());
  return stream;
}

TEST(PieceDecoder, RefusesPiecesOfOtherSizesThanTheySay) {
  EXPECT_THAT(refused(with_plain(1000, 1)), HasSubstr("a piece for 1001 bytes that has 1000"));
  EXPECT_THAT(refused(with_plain(1000, -1)), HasSubstr("a piece for 999 bytes that has more"));
  EXPECT_THAT(refused(with_plain(65536, -60000)), HasSubstr("more"));
}

TEST(PieceDecoder, RefusesAPieceThatIsCutShort) {
  PieceEncoder encoder;
  Bytes stream;
  append_compressed(stream, encoder, test::smooth_bytes(1000));
  auto piece = decode_piece_header(std::span(stream).first<Piece::kHeaderSize>()).value();
  stream.pop_back();
  --piece.carried;
  std::ranges::copy(encode_piece_header(piece), stream.begin());
  EXPECT_THAT(refused(stream), HasSubstr("a piece for 1000 bytes that has"));
}

/// A frame of zstd whose header asks for a window of 8 MiB (RFC 8878 3.1.1.1).
TEST(PieceDecoder, RefusesALargerWindow) {
  constexpr std::array kFrame = {0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x68, 0x43, 0x06, 0x00, 0x61};
  Bytes frame;
  for (const int each : kFrame) frame.push_back(static_cast<std::byte>(each));
  Bytes stream;
  append_piece(stream, {PieceKind::kFirst, static_cast<std::uint32_t>(frame.size()), 200}, frame);
  EXPECT_THAT(refused(stream), HasSubstr("zstd does not read"));
}

TEST(PieceDecoder, ReturnsWhatComesBeforeAnError) {
  Bytes stream;
  append_plain(stream, Bytes(50));
  test::append(stream, Bytes(8));
  PieceDecoder decoder;
  std::ranges::copy(stream, decoder.input_room().begin());
  decoder.add_input(stream.size());
  Bytes memory(100);
  const iovec piece{memory.data(), memory.size()};
  EXPECT_EQ(decoder.read(std::span(&piece, 1)).value(), 50U);
  EXPECT_FALSE(decoder.read(std::span(&piece, 1)).ok());
}

}  // namespace
}  // namespace impishim::wire
