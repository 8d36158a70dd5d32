// SPDX-License-Identifier: Apache-2.0
#include "wire/resume/resend_buffer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "tests/unit/wire/channel/support.hpp"

namespace impishim::wire {
namespace {

using test::piece;
using test::random_bytes;

constexpr std::size_t kBlock = ResendBuffer::kBlockSize;

void append(ResendBuffer& buffer, std::span<const std::byte> bytes) {
  const iovec one = piece(bytes);
  buffer.append(std::span(&one, 1), bytes.size());
}

/// Returns `size` bytes from `position`, found with at most `most` pieces at a time.
std::vector<std::byte> bytes_at(const ResendBuffer& buffer, std::uint64_t position,
                                std::size_t size, std::size_t most = 3) {
  std::vector<std::byte> bytes;
  while (bytes.size() < size) {
    std::array<iovec, 3> pieces{};
    const auto found =
        buffer.find(position + bytes.size(), size - bytes.size(), std::span(pieces).first(most));
    if (found.empty()) return {};
    for (const iovec& each : found) {
      const auto* begin = static_cast<const std::byte*>(each.iov_base);
      bytes.insert(bytes.end(), begin, begin + each.iov_len);
    }
  }
  return bytes;
}

std::vector<std::byte> part(const std::vector<std::byte>& bytes, std::size_t from,
                            std::size_t size) {
  const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(from);
  return {begin, begin + static_cast<std::ptrdiff_t>(size)};
}

TEST(ResendBuffer, FindsWhatWasAppendedAcrossBlocks) {
  const auto bytes = random_bytes(3 * kBlock + 100, 1);
  ResendBuffer buffer(4 * kBlock);
  append(buffer, bytes);
  EXPECT_EQ(buffer.begin(), 0U);
  EXPECT_EQ(buffer.end(), bytes.size());
  for (const std::size_t from : {std::size_t{0}, kBlock - 1, kBlock, kBlock + 1, 3 * kBlock}) {
    const std::size_t size = bytes.size() - from;
    EXPECT_EQ(bytes_at(buffer, from, size), part(bytes, from, size)) << from;
    EXPECT_EQ(bytes_at(buffer, from, size, 1), part(bytes, from, size)) << from;
    EXPECT_EQ(bytes_at(buffer, from, 1), part(bytes, from, 1)) << from;
  }
  EXPECT_TRUE(bytes_at(buffer, bytes.size(), 0).empty());
}

TEST(ResendBuffer, FillsNoMorePiecesThanThereAre) {
  ResendBuffer buffer(4 * kBlock);
  append(buffer, random_bytes(3 * kBlock, 2));
  std::array<iovec, 2> pieces{};
  EXPECT_EQ(buffer.find(10, 3 * kBlock - 10, pieces).size(), 2U);
  EXPECT_EQ(pieces[0].iov_len, kBlock - 10);
  EXPECT_EQ(pieces[1].iov_len, kBlock);
  EXPECT_TRUE(buffer.find(10, 5, std::span(pieces).first(0)).empty());
}

TEST(ResendBuffer, TakesTheBeginningOfSeveralPieces) {
  const auto bytes = random_bytes(100, 3);
  const std::array pieces = {piece(std::span(bytes).first(10)), piece(std::span(bytes).first(0)),
                             piece(std::span(bytes).subspan(10))};
  ResendBuffer buffer(kBlock);
  buffer.append(pieces, 55);
  EXPECT_EQ(buffer.end(), 55U);
  EXPECT_EQ(bytes_at(buffer, 0, 55), part(bytes, 0, 55));
}

TEST(ResendBuffer, HasRoomForItsBound) {
  ResendBuffer buffer(1000);
  EXPECT_EQ(buffer.room(), 1000U);
  append(buffer, random_bytes(1000, 4));
  EXPECT_EQ(buffer.room(), 0U);
  buffer.forget(1);
  EXPECT_EQ(buffer.room(), 1U);
  EXPECT_EQ(buffer.begin(), 1U);
  append(buffer, random_bytes(1, 4));
  EXPECT_EQ(buffer.end(), 1001U);
}

/// The whole stream, compared with a plain copy of it.
TEST(ResendBuffer, KeepsExactlyWhatWasNotForgotten) {
  const auto bytes = random_bytes(40 * kBlock, 5);
  constexpr std::size_t kBound = 3 * kBlock + 17;
  std::mt19937 random(6);
  ResendBuffer buffer(kBound);
  for (int i = 0; i < 3000 && buffer.end() < bytes.size(); ++i) {
    const auto end = static_cast<std::size_t>(buffer.end());
    const std::size_t size =
        std::min({buffer.room(), bytes.size() - end, std::size_t{random() % 50000}});
    append(buffer, std::span(bytes).subspan(end, size));
    const auto begin = static_cast<std::size_t>(buffer.begin());
    const auto kept = static_cast<std::size_t>(buffer.end()) - begin;
    ASSERT_EQ(bytes_at(buffer, begin, kept), part(bytes, begin, kept));
    ASSERT_EQ(buffer.room(), kBound - kept);
    ASSERT_LE(buffer.memory(), kBound + 2 * kBlock);
    buffer.forget(begin + (random() % 4 == 0 ? kept : random() % (kept + 1)));
  }
  EXPECT_EQ(buffer.end(), bytes.size());
}

TEST(ResendBuffer, ShrinksWhenAllIsForgotten) {
  ResendBuffer buffer(20 * kBlock);
  EXPECT_EQ(buffer.memory(), 0U);
  const auto bytes = random_bytes(20 * kBlock, 7);
  append(buffer, bytes);
  EXPECT_EQ(buffer.memory(), 20 * kBlock);
  buffer.forget(20 * kBlock - 1);
  EXPECT_EQ(buffer.memory(), 20 * kBlock) << "the next burst may need as much";
  buffer.forget(20 * kBlock);
  EXPECT_LE(buffer.memory(), ResendBuffer::kKeptBlocks * kBlock);
  append(buffer, std::span(bytes).first(100));
  EXPECT_EQ(bytes_at(buffer, 20 * kBlock, 100), part(bytes, 0, 100));
}

TEST(ResendBuffer, ShrinksToItsLimitFromTheMiddleOfABlockToo) {
  ResendBuffer buffer(20 * kBlock);
  append(buffer, random_bytes(10 * kBlock + 5, 8));
  buffer.forget(buffer.end());
  EXPECT_LE(buffer.memory(), ResendBuffer::kKeptBlocks * kBlock);
}

TEST(ResendBuffer, UsesItsMemoryAgain) {
  ResendBuffer buffer(8 * kBlock);
  const auto bytes = random_bytes(2 * kBlock, 9);
  for (int i = 0; i < 50; ++i) {
    append(buffer, bytes);
    if (i >= 3) buffer.forget(buffer.begin() + bytes.size());
    ASSERT_LE(buffer.memory(), 9 * kBlock);
  }
}

}  // namespace
}  // namespace impishim::wire
