// SPDX-License-Identifier: Apache-2.0
#include "wire/base/linear_buffer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

namespace impishim::wire {
namespace {

TEST(LinearBuffer, KeepsTheOrderOfItsBytes) {
  constexpr std::size_t kCapacity = 64;
  constexpr std::size_t kRoom = 16;
  std::mt19937 random(21);
  LinearBuffer buffer(kCapacity);
  unsigned char next_in = 0;
  unsigned char next_out = 0;
  std::size_t total = 0;
  for (int i = 0; i < 20000; ++i) {
    buffer.make_room(kRoom);
    const std::size_t in = std::min<std::size_t>(random() % 32, buffer.room().size());
    for (std::size_t each = 0; each < in; ++each) buffer.room()[each] = std::byte{next_in++};
    buffer.add(in);
    const std::size_t out = std::min<std::size_t>(random() % 32, buffer.bytes().size());
    for (std::size_t each = 0; each < out; ++each)
      ASSERT_EQ(buffer.bytes()[each], std::byte{next_out++});
    buffer.remove(out);
    total += out;
  }
  EXPECT_GT(total, 1000 * kCapacity);
}

TEST(LinearBuffer, MakesRoomOnlyIfThatCostsLessThanWhatWasRemoved) {
  LinearBuffer buffer(64);
  buffer.add(64);
  buffer.remove(20);
  buffer.make_room(10);
  EXPECT_EQ(buffer.room().size(), 0U) << "44 bytes are more than the 20 before them";
  buffer.remove(20);
  buffer.make_room(10);
  EXPECT_EQ(buffer.room().size(), 40U);
  EXPECT_EQ(buffer.bytes().size(), 24U);
  buffer.remove(24);
  EXPECT_TRUE(buffer.empty());
  EXPECT_EQ(buffer.room().size(), 64U);
}

}  // namespace
}  // namespace impishim::wire
