// SPDX-License-Identifier: Apache-2.0
#include "wire/stripe/reorder_buffer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <span>
#include <vector>

#include "tests/unit/wire/channel/support.hpp"
#include "wire/resume/byte_ranges.hpp"

namespace impishim::wire {
namespace {

TEST(ByteRanges, JoinRangesThatTouch) {
  ByteRanges ranges;
  ranges.add({10, 20});
  ranges.add({30, 40});
  ranges.add({5, 5});
  EXPECT_EQ(ranges.count(), 2U);
  ranges.add({20, 30});
  EXPECT_EQ(ranges.count(), 1U);
  EXPECT_EQ(ranges.first(), (ByteRange{10, 40}));
  ranges.remove_before(15);
  EXPECT_EQ(ranges.first(), (ByteRange{15, 40}));
  ranges.remove_before(40);
  EXPECT_TRUE(ranges.empty());
  EXPECT_EQ(ranges.end(), 0U);
}

TEST(ByteRanges, AreASetOfBytes) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    ByteRanges ranges;
    std::set<std::uint64_t> bytes;
    for (int i = 0; i < 30; ++i) {
      const std::uint64_t begin = random() % 100;
      const std::uint64_t end = begin + random() % 12;
      if (random() % 5 == 0) {
        ranges.remove_before(begin);
        bytes.erase(bytes.begin(), bytes.lower_bound(begin));
        continue;
      }
      ranges.add({begin, end});
      for (std::uint64_t each = begin; each < end; ++each) bytes.insert(each);
    }
    while (!ranges.empty()) {
      const ByteRange first = ranges.first();
      for (std::uint64_t each = first.begin; each < first.end; ++each)
        EXPECT_EQ(bytes.erase(each), 1U);
      EXPECT_FALSE(bytes.contains(first.end));
      ranges.remove_before(first.end);
    }
    EXPECT_TRUE(bytes.empty());
  }
}

class ReorderBufferTest : public testing::Test {
 protected:
  void put(std::uint64_t position, std::size_t size) {
    std::array<iovec, 8> pieces;
    std::size_t done = 0;
    while (done < size) {
      for (const iovec& each : buffer.prepare(position + done, size - done, pieces)) {
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(position + done), each.iov_len,
                    static_cast<std::byte*>(each.iov_base));
        done += each.iov_len;
      }
    }
    buffer.add({position, position + size});
  }
  std::vector<std::byte> bytes = test::random_bytes(400'000, 4);
  ReorderBuffer buffer;
};

TEST_F(ReorderBufferTest, GivesBytesInOrder) {
  put(100'000, 150'000);
  put(10, 99'990);
  std::vector<std::byte> got(300'000);
  EXPECT_FALSE(buffer.continues(0));
  EXPECT_EQ(buffer.copy(0, got), 0U);
  ASSERT_TRUE(buffer.continues(10));
  ASSERT_EQ(buffer.copy(10, got), 249'990U);
  EXPECT_TRUE(std::equal(got.begin(), got.begin() + 249'990, bytes.begin() + 10));
}

TEST_F(ReorderBufferTest, KeepsABoundedMemoryWhenItIsEmpty) {
  put(1, 399'000);
  EXPECT_GE(buffer.memory(), 399'000U);
  buffer.forget(399'001);
  EXPECT_TRUE(buffer.ranges().empty());
  EXPECT_LE(buffer.memory(), (ReorderBuffer::kKeptBlocks + 1) * ReorderBuffer::kBlockSize);
}

}  // namespace
}  // namespace impishim::wire
