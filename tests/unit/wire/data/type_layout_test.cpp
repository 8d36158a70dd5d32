// SPDX-License-Identifier: Apache-2.0
// Layouts: what is merged, what is contiguous, and that regular types stay small however large they
// are.
#include "wire/data/type_layout.hpp"

#include <gtest/gtest.h>

namespace impishim::wire {
namespace {

constexpr Format kAll[] = {Format::kNative, Format::kExternal32, Format::kWide};

TEST(TypeLayout, BasicTypesAreContiguous) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(BasicType::kNumberOfTypes); ++i) {
    const auto type = static_cast<BasicType>(i);
    const TypeLayout& layout = TypeLayout::basic(type);
    EXPECT_TRUE(layout.contiguous(1000));
    EXPECT_EQ(layout.basic_count(), 1U);
    EXPECT_EQ(layout.extent(), static_cast<std::ptrdiff_t>(element_size(type, Format::kNative)));
    for (const Format format : kAll)
      EXPECT_EQ(layout.packed_size(format), element_size(type, format));
  }
}

TEST(TypeLayout, MergesNeighboursOfOneType) {
  const TypeLayout layout(
      {{0, BasicType::kInt32, 2}, {8, BasicType::kInt32, 1}, {12, BasicType::kInt32, 5}}, 32);
  ASSERT_EQ(layout.blocks().size(), 1U);
  EXPECT_EQ(layout.blocks()[0].count, 8U);
  EXPECT_TRUE(layout.contiguous(10));
}

TEST(TypeLayout, NeighboursOfTwoTypesAreContiguousInMemory) {
  const TypeLayout pair({{0, BasicType::kDouble, 1}, {8, BasicType::kInt32, 1}}, 16);
  EXPECT_TRUE(pair.contiguous(1));
  EXPECT_FALSE(pair.contiguous(2)) << "four bytes of padding between two";
  const TypeLayout tight({{0, BasicType::kDouble, 1}, {8, BasicType::kInt32, 1}}, 12);
  EXPECT_TRUE(tight.contiguous(2));
}

TEST(TypeLayout, OneElementIsContiguousWhateverItsExtent) {
  for (const std::ptrdiff_t extent : {-8, 0, 4, 100}) {
    const TypeLayout layout({{24, BasicType::kInt32, 2}}, extent);
    EXPECT_TRUE(layout.contiguous(1)) << extent;
    EXPECT_TRUE(layout.contiguous(0)) << extent;
    EXPECT_FALSE(layout.contiguous(2)) << extent;
    EXPECT_EQ(layout.first_offset(), 24);
  }
}

TEST(TypeLayout, OrderInTheTypeMapCountsNotInMemory) {
  const TypeLayout backwards({{4, BasicType::kInt32, 1}, {0, BasicType::kInt32, 1}}, 8);
  EXPECT_FALSE(backwards.contiguous(1));
}

TEST(TypeLayout, RunsWithoutGapsAreOneRun) {
  const TypeLayout layout({{0, BasicType::kFloat, 3, 1000, 12}}, 12000);
  ASSERT_EQ(layout.blocks().size(), 1U);
  EXPECT_EQ(layout.blocks()[0].repeat, 1U);
  EXPECT_EQ(layout.blocks()[0].count, 3000U);
}

TEST(TypeLayout, RegularBlocksBecomeOne) {
  std::vector<Block> blocks;
  for (std::ptrdiff_t i = 0; i < 100000; ++i) blocks.push_back({i * 24, BasicType::kDouble, 2});
  const TypeLayout layout(std::move(blocks), 2400000);
  ASSERT_EQ(layout.blocks().size(), 1U);
  EXPECT_EQ(layout.blocks()[0].repeat, 100000U);
  EXPECT_EQ(layout.blocks()[0].stride, 24);
  EXPECT_EQ(layout.basic_count(), 200000U);
}

TEST(TypeLayout, EmptyBlocksVanish) {
  const TypeLayout layout({{5, BasicType::kInt32, 0}, {7, BasicType::kDouble, 3, 0, 8}}, 40);
  EXPECT_TRUE(layout.blocks().empty());
  EXPECT_EQ(layout.basic_count(), 0U);
  for (const Format format : kAll) EXPECT_EQ(layout.packed_size(format), 0U);
  EXPECT_TRUE(layout.contiguous(1));
}

TEST(TypeLayout, SizesAreOf64Bits) {
  const TypeLayout layout({{0, BasicType::kSignedLong, 1ULL << 33U}}, 8);
  EXPECT_EQ(layout.packed_size(Format::kExternal32), 1ULL << 35U);
  EXPECT_EQ(layout.packed_size(Format::kWide), 1ULL << 36U);
  const ConstBuffer buffer{nullptr, 16, &layout};
  EXPECT_EQ(buffer.packed_size(Format::kNative), 1ULL << 40U);
}

}  // namespace
}  // namespace impishim::wire
