// SPDX-License-Identifier: Apache-2.0
#include "darray/local/pack.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "darray/base/error.hpp"
#include "darray/local/packer.hpp"
#include "tests/unit/darray/local/random_selection.hpp"

namespace impishim::darray {
namespace {

using Bytes = std::vector<std::byte>;

Bytes numbered(Index elements, std::size_t size, int first = 0) {
  Bytes bytes(static_cast<std::size_t>(elements) * size);
  for (std::size_t k = 0; k < bytes.size(); ++k)
    bytes[k] = static_cast<std::byte>((k * 7 + k / 251 + static_cast<std::size_t>(first)) % 256);
  return bytes;
}

void move_element(Bytes& to, Index at, const Bytes& from, Index origin, std::size_t size) {
  std::memcpy(to.data() + at * static_cast<Index>(size),
              from.data() + origin * static_cast<Index>(size), size);
}

class ElementSizes : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(All, ElementSizes, testing::Values(1, 2, 3, 4, 8, 12, 16, 24, 40));

TEST_P(ElementSizes, RandomPatchesArePackedAndUnpacked) {
  const std::size_t size = GetParam();
  Random random(3);
  const Bytes buffer = numbered(625, size);
  for (int round = 0; round < 300; ++round) {
    const Patch patch = random_patch(random);
    Bytes packed = numbered(patch.size(), size, 99);
    Bytes expected = packed;
    for (Index k = 0; k < patch.size(); ++k) move_element(expected, k, buffer, patch.at(k), size);
    pack(patch, size, buffer.data(), packed.data());
    ASSERT_EQ(packed, expected);

    Bytes target = numbered(625, size, 55);
    Bytes filled = target;
    const Bytes arrived = numbered(patch.size(), size, 31);
    for (Index k = 0; k < patch.size(); ++k) move_element(filled, patch.at(k), arrived, k, size);
    unpack(patch, size, target.data(), arrived.data());
    ASSERT_EQ(target, filled);
  }
}

TEST_P(ElementSizes, WordsArePackedAndUnpacked) {
  const std::size_t size = GetParam();
  Random random(4);
  const Bytes buffer = numbered(625, size);
  for (const bool wide : {false, true}) {
    Selection selection;
    std::vector<Index> words = random_words(random, 600, 150);
    // Below 0 offsets do not fit narrow words.
    if (wide) words[3] = -20;
    const std::byte* base = buffer.data() + 20 * size;
    selection.add(words);
    const Packer packer(selection, size);
    ASSERT_EQ(packer.bytes(), 150 * size);
    Bytes packed(150 * size);
    packer.pack(base, packed.data());
    Bytes copied(buffer.size());
    packer.unpack(copied.data() + 20 * size, packed.data());
    for (std::size_t k = 0; k < words.size(); ++k) {
      const auto place = static_cast<std::size_t>(words[k] + 20) * size;
      ASSERT_EQ(std::memcmp(packed.data() + k * size, buffer.data() + place, size), 0);
      ASSERT_EQ(std::memcmp(copied.data() + place, buffer.data() + place, size), 0);
    }
  }
}

TEST_P(ElementSizes, PermutedPatchesAreCopied) {
  const std::size_t size = GetParam();
  // Large enough for several blocks of the transposition, and no multiple of them.
  const std::vector<Index> extents = {21, 3, 77};
  const Patch source{0, {{21, 3 * 77}, {3, 77}, {77, 1}}};
  const Bytes buffer = numbered(source.size(), size);
  std::vector<int> order = {0, 1, 2};
  do {
    // The destination has its axes in this order in memory, and its last one backwards.
    Patch destination{0, std::vector<Dimension>(3)};
    Index stride = 1;
    for (std::size_t axis = 3; axis-- > 0;) {
      const auto from = static_cast<std::size_t>(order[axis]);
      destination.dimensions[from] = {extents[from], stride};
      stride *= extents[from];
    }
    destination.offset = (extents[2] - 1) * destination.dimensions[2].stride;
    destination.dimensions[2].stride *= -1;
    Bytes target(buffer.size());
    Bytes expected(buffer.size());
    for (Index k = 0; k < source.size(); ++k)
      move_element(expected, destination.at(k), buffer, source.at(k), size);
    copy(source, buffer.data(), destination, target.data(), size);
    ASSERT_EQ(target, expected);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_P(ElementSizes, PatchesOfOtherExtentsAreCopied) {
  const std::size_t size = GetParam();
  Random random(5);
  int copies = 0;
  while (copies < 200) {
    const Patch source = random_patch(random);
    Patch destination = random_patch(random);
    if (between(random, 0, 1) == 0) destination = {3, {{source.size(), 2}}};
    if (source.size() != destination.size()) continue;
    ++copies;
    const Bytes buffer = numbered(1300, size);
    Bytes target = numbered(1300, size, 9);
    Bytes expected = target;
    for (Index k = 0; k < source.size(); ++k)
      move_element(expected, destination.at(k), buffer, source.at(k), size);
    copy(source, buffer.data(), destination, target.data(), size);
    ASSERT_EQ(target, expected);
  }
}

TEST(Copy, SizesMustBeEqual) {
  Bytes bytes(64);
  EXPECT_THROW(copy(contiguous_patch(0, 3), bytes.data(), contiguous_patch(8, 4), bytes.data(), 1),
               Error);
  EXPECT_THROW(StridedCopy({0, {{2, 2}, {2, 1}}}, contiguous_patch(0, 4), 1), Error);
}

TEST(Copy, BetweenWordsAndPatchesLongerThanTheBuffer) {
  Random random(6);
  const Index count = 10000;
  std::vector<double> from(20000), to(20000, -1);
  std::iota(from.begin(), from.end(), 0.0);
  const std::vector<Index> words = random_words(random, 20000, count);
  Selection source;
  source.add(words);
  Selection destination(Patch{0, {{4000, 3}}});
  destination.add(Patch{19999, {{count - 4000, -1}}});
  LocalCopy(source, destination, sizeof(double), false)
      .run(reinterpret_cast<const std::byte*>(from.data()), reinterpret_cast<std::byte*>(to.data()),
           {});
  const auto places = destination.offsets();
  for (std::size_t k = 0; k < words.size(); ++k) {
    ASSERT_EQ(to[static_cast<std::size_t>(places[k])], from[static_cast<std::size_t>(words[k])]);
  }
}

TEST(CombineTest, RandomPatchesAndWords) {
  Random random(7);
  for (int round = 0; round < 300; ++round) {
    Selection selection(random_patch(random));
    selection.add(random_words(random, 600, between(random, 0, 30)));
    // The same word several times, and a patch that stands still: each arrival counts.
    selection.add(std::vector<Index>{5, 5, 9, 5});
    selection.add(Patch{600, {{3, 0}}});
    std::vector<std::int64_t> target(625), arrived(static_cast<std::size_t>(selection.size()));
    std::iota(target.begin(), target.end(), 1000);
    std::iota(arrived.begin(), arrived.end(), 1);
    std::vector<std::int64_t> expected = target;
    const auto offsets = selection.offsets();
    for (std::size_t k = 0; k < offsets.size(); ++k)
      expected[static_cast<std::size_t>(offsets[k])] += arrived[k];
    Packer(selection, 8, true)
        .unpack_combine(reinterpret_cast<std::byte*>(target.data()),
                        reinterpret_cast<const std::byte*>(arrived.data()),
                        combine_function(Combine::kSum, Scalar::kInt64));
    ASSERT_EQ(target, expected);
  }
}

TEST(CombineTest, LongStridedRows) {
  std::vector<double> target(9000, 1), arrived(4500, 2);
  unpack_combine({8998, {{4500, -2}}}, 8, reinterpret_cast<std::byte*>(target.data()),
                 reinterpret_cast<const std::byte*>(arrived.data()),
                 combine_function(Combine::kProduct, Scalar::kDouble));
  for (std::size_t k = 0; k < target.size(); ++k) ASSERT_EQ(target[k], k % 2 == 0 ? 2 : 1);
}

template <class T>
T combined(Combine operation, T there, T arrived) {
  combine_function(operation, scalar_of<T>())(reinterpret_cast<std::byte*>(&there),
                                              reinterpret_cast<const std::byte*>(&arrived), 1);
  return there;
}

TEST(CombineTest, Operators) {
  EXPECT_EQ(combined<std::int32_t>(Combine::kSum, 2147483647, 1), -2147483647 - 1);
  EXPECT_EQ(combined<std::uint16_t>(Combine::kProduct, 65535, 65535), 1);
  EXPECT_EQ(combined<std::int8_t>(Combine::kMin, -3, 2), -3);
  EXPECT_EQ(combined<float>(Combine::kMax, -3, 2), 2);
  EXPECT_EQ(combined<std::uint8_t>(Combine::kAnd, 6, 3), 2);
  EXPECT_EQ(combined<std::uint32_t>(Combine::kOr, 6, 3), 7U);
  EXPECT_EQ(combined<std::int64_t>(Combine::kXor, 6, 3), 5);
  EXPECT_EQ(combined<bool>(Combine::kSum, true, true), true);
  EXPECT_EQ(combined<bool>(Combine::kProduct, true, false), false);
  EXPECT_EQ(combined<bool>(Combine::kXor, true, true), false);
  EXPECT_EQ(combined<long double>(Combine::kProduct, 3, 4), 12);
  using Complex = std::complex<double>;
  EXPECT_EQ(combined<Complex>(Combine::kProduct, {0, 1}, {0, 1}), Complex(-1, 0));
}

TEST(CombineTest, WhatATypeDoesNotHaveIsRefused) {
  EXPECT_THROW(combine_function(Combine::kMin, Scalar::kComplexFloat), Error);
  EXPECT_THROW(combine_function(Combine::kAnd, Scalar::kDouble), Error);
  EXPECT_THROW(combine_function(Combine::kSum, Scalar::kOpaque), Error);
  EXPECT_FALSE(combine_function(Combine::kReplace, Scalar::kOpaque));
}

}  // namespace
}  // namespace impishim::darray
