// SPDX-License-Identifier: Apache-2.0
#include "shim/values/initialization_numbers.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>

namespace impishim::shim {
namespace {

using Side = InitializationNumbers::Side;

TEST(InitializationNumbers, CountEachSidePeerAndTagByItself) {
  InitializationNumbers numbers;
  EXPECT_EQ(numbers.next(Side::kSend, 1, 7), 0U);
  EXPECT_EQ(numbers.next(Side::kSend, 1, 7), 1U);
  EXPECT_EQ(numbers.next(Side::kReceive, 1, 7), 0U);
  EXPECT_EQ(numbers.next(Side::kSend, 2, 7), 0U);
  EXPECT_EQ(numbers.next(Side::kSend, 1, 8), 0U);
  EXPECT_EQ(numbers.next(Side::kSend, 1, 7), 2U);
}

TEST(InitializationNumbers, RanksAndNumbersMakeDistinctRanks) {
  std::set<std::int32_t> seen;
  for (std::int32_t rank = 0; rank < 5; ++rank) {
    for (std::uint64_t number = 0; number < 100; ++number)
      EXPECT_TRUE(seen.insert(numbered_rank(rank, number, 5)).second);
  }
  // The first operation of each pair bears the rank alone.
  EXPECT_EQ(numbered_rank(3, 0, 5), 3);
}

TEST(InitializationNumbers, StayValidRanks) {
  for (const std::int32_t senders : {1, 2, 1000, INT32_MAX}) {
    for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{1} << 31U, UINT64_MAX})
      EXPECT_GE(numbered_rank(senders - 1, number, senders), 0);
  }
}

}  // namespace
}  // namespace impishim::shim
