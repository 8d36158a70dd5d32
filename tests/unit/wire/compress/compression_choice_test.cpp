// SPDX-License-Identifier: Apache-2.0
#include "wire/compress/compression_choice.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

namespace impishim::wire {
namespace {

constexpr std::size_t kPiece = 65536;

/// Sends pieces plain until the next one would be compressed. Returns the bytes of them.
std::uint64_t rest_of(CompressionChoice& choice) {
  std::uint64_t bytes = 0;
  choice.found_full();
  while (!choice.compresses(kPiece)) {
    choice.went_plain(kPiece);
    bytes += kPiece;
  }
  return bytes;
}

void miss(CompressionChoice& choice) {
  for (unsigned i = 0; i < CompressionChoice::kMostMisses; ++i) {
    ASSERT_TRUE(choice.compresses(kPiece));
    choice.tried(kPiece, false);
  }
}

TEST(CompressionChoice, BeginsWhenTheConnectionIsFull) {
  CompressionChoice choice;
  EXPECT_FALSE(choice.compresses(kPiece));
  choice.went_plain(kPiece);
  choice.found_full();
  EXPECT_TRUE(choice.compresses(kPiece));
}

TEST(CompressionChoice, LeavesShortPiecesPlain) {
  CompressionChoice choice;
  choice.found_full();
  EXPECT_FALSE(choice.compresses(CompressionChoice::kLeast - 1));
  EXPECT_TRUE(choice.compresses(CompressionChoice::kLeast));
}

TEST(CompressionChoice, GoesOnWhileTheConnectionIsFull) {
  CompressionChoice choice;
  for (int i = 0; i < 10000; ++i) {
    if (i % 8 == 0) choice.found_full();
    ASSERT_TRUE(choice.compresses(kPiece)) << i;
    choice.tried(kPiece, true);
  }
}

TEST(CompressionChoice, RestsLongerAndLongerWhereNothingShrinks) {
  CompressionChoice choice;
  choice.found_full();
  std::uint64_t expected = CompressionChoice::kFirstRest;
  for (int i = 0; i < 12; ++i) {
    miss(choice);
    EXPECT_FALSE(choice.compresses(kPiece));
    EXPECT_EQ(rest_of(choice), expected) << i;
    expected = std::min(2 * expected, CompressionChoice::kLongestRest);
  }
}

TEST(CompressionChoice, RestsWhereTheRoadIsFasterThanTheCompressor) {
  CompressionChoice choice;
  std::uint64_t expected = CompressionChoice::kFirstRest;
  choice.found_full();
  for (int i = 0; i < 3; ++i) {
    std::uint64_t compressed = 0;
    while (choice.compresses(kPiece)) {
      choice.tried(kPiece, true);
      compressed += kPiece;
    }
    EXPECT_EQ(compressed, CompressionChoice::kAfterFull);
    EXPECT_EQ(rest_of(choice), expected) << i;
    expected *= 2;
  }
}

TEST(CompressionChoice, ASuccessMakesTheNextRestShort) {
  CompressionChoice choice;
  choice.found_full();
  for (int i = 0; i < 3; ++i) {
    miss(choice);
    rest_of(choice);
  }
  choice.tried(kPiece, true);
  choice.found_full();
  miss(choice);
  EXPECT_EQ(rest_of(choice), CompressionChoice::kFirstRest);
}

}  // namespace
}  // namespace impishim::wire
