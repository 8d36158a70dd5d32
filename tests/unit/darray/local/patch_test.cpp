// SPDX-License-Identifier: Apache-2.0
#include "darray/local/patch.hpp"

#include <gtest/gtest.h>

#include "darray/base/error.hpp"
#include "tests/unit/darray/local/random_selection.hpp"

namespace impishim::darray {
namespace {

// The meaning of a patch: nested loops.
std::vector<Index> offsets_of(const Patch& patch, std::size_t depth = 0, Index offset = 0) {
  if (depth == patch.dimensions.size()) return {patch.offset + offset};
  std::vector<Index> result;
  for (Index k = 0; k < patch.dimensions[depth].extent; ++k) {
    const auto inner = offsets_of(patch, depth + 1, offset + k * patch.dimensions[depth].stride);
    result.insert(result.end(), inner.begin(), inner.end());
  }
  return result;
}

TEST(Patch, NoDimensionsAreOneElement) {
  const Patch patch{7, {}};
  EXPECT_EQ(patch.size(), 1);
  EXPECT_EQ(patch.at(0), 7);
  EXPECT_TRUE(patch.is_contiguous());
  EXPECT_EQ(patch.bounds(), std::pair(Index{7}, Index{7}));
}

TEST(Patch, AnExtentOfZeroIsNoElement) {
  const Patch patch{7, {{3, 4}, {0, 1}}};
  EXPECT_EQ(patch.size(), 0);
  EXPECT_EQ(patch.normalised(), (Patch{7, {{0, 1}}}));
  EXPECT_EQ(patch.bounds(), std::pair(Index{0}, Index{-1}));
  EXPECT_TRUE(patch.slice(0, 0).empty());
}

TEST(Patch, NormalisingMergesWhatContinues) {
  EXPECT_EQ((Patch{0, {{2, 12}, {1, 100}, {3, 4}, {4, 1}}}.normalised()), (Patch{0, {{24, 1}}}));
  EXPECT_EQ((Patch{5, {{2, 13}, {3, 4}, {4, 1}}}.normalised()), (Patch{5, {{2, 13}, {12, 1}}}));
  EXPECT_TRUE((Patch{5, {{4, 3}, {3, 1}}}.is_contiguous()));
  EXPECT_FALSE((Patch{5, {{3, 1}, {4, 3}}}.is_contiguous()));
  EXPECT_FALSE((Patch{5, {{3, -1}}}.is_contiguous()));
}

TEST(Patch, SectionsNameTheRightElements) {
  const Patch patch = section_patch({4, 6}, {{3, 2, -2}, {1, 2, 3}});
  EXPECT_EQ(offsets_of(patch), (std::vector<Index>{19, 22, 7, 10}));
  EXPECT_EQ(section_patch({}, {}).size(), 1);
  EXPECT_EQ(section_patch({0, 6}, {{0, 0, 1}, {0, 6, 1}}).size(), 0);
  EXPECT_THROW(section_patch({4}, {{3, 2, 1}}), Error);
  EXPECT_THROW(section_patch({4}, {{1, 3, -1}}), Error);
  EXPECT_THROW(section_patch({4, 4}, {{0, 4, 1}}), Error);
}

TEST(Patch, RandomPatchesKeepTheirElements) {
  Random random(1);
  for (int round = 0; round < 500; ++round) {
    const Patch patch = random_patch(random);
    const std::vector<Index> expected =
        patch.size() == 0 ? std::vector<Index>{} : offsets_of(patch);
    ASSERT_EQ(patch.size(), static_cast<Index>(expected.size()));
    if (patch.size() == 0) continue;
    ASSERT_EQ(offsets_of(patch.normalised()), expected);
    for (Index k = 0; k < patch.size(); ++k)
      ASSERT_EQ(patch.at(k), expected[static_cast<std::size_t>(k)]);
    const auto [low, high] = std::minmax_element(expected.begin(), expected.end());
    ASSERT_EQ(patch.bounds(), std::pair(*low, *high));

    const Index from = between(random, 0, patch.size());
    const Index count = between(random, 0, patch.size() - from);
    std::vector<Index> sliced;
    const std::vector<Patch> slices = patch.slice(from, count);
    ASSERT_LE(slices.size(), std::max<std::size_t>(1, 2 * patch.dimensions.size()));
    for (const Patch& slice : slices) {
      const auto part = offsets_of(slice);
      sliced.insert(sliced.end(), part.begin(), part.end());
    }
    ASSERT_EQ(sliced, std::vector<Index>(expected.begin() + from, expected.begin() + from + count));
  }
}

TEST(Patch, SlicesBeyondTheEndAreErrors) {
  const Patch patch = contiguous_patch(0, 4);
  EXPECT_THROW(patch.slice(2, 3), Error);
  EXPECT_THROW(patch.slice(-1, 2), Error);
}

TEST(Selection, KeepsOrderAndSlices) {
  Random random(2);
  for (int round = 0; round < 300; ++round) {
    Selection selection;
    std::vector<Index> expected;
    for (Index piece = between(random, 0, 3); piece-- > 0;) {
      if (between(random, 0, 1) == 0) {
        const Patch patch = random_patch(random);
        selection.add(patch);
        if (patch.size() > 0) {
          const auto part = offsets_of(patch);
          expected.insert(expected.end(), part.begin(), part.end());
        }
      } else {
        std::vector<Index> words = random_words(random, 600, between(random, 0, 40));
        // Long regular stretches, which are kept as patches, between irregular words.
        const Index step = between(random, 0, 2);
        for (Index k = between(random, 0, 1) * 100; k-- > 0;) words.push_back(k * step);
        if (between(random, 0, 5) == 0) words.push_back(Index{1} << 40);
        selection.add(words);
        expected.insert(expected.end(), words.begin(), words.end());
      }
    }
    ASSERT_EQ(selection.offsets(), expected);
    ASSERT_EQ(selection.size(), static_cast<Index>(expected.size()));
    const Index from = between(random, 0, selection.size());
    const Index count = between(random, 0, selection.size() - from);
    ASSERT_EQ(selection.slice(from, count).offsets(),
              std::vector<Index>(expected.begin() + from, expected.begin() + from + count));
  }
}

TEST(Selection, SeesWhatLiesSideBySide) {
  Selection selection;
  EXPECT_EQ(selection.contiguous(), 0);
  selection.add(Patch{4, {{2, 3}, {3, 1}}});
  EXPECT_EQ(selection.contiguous(), 4);
  selection.add(contiguous_patch(10, 2));
  EXPECT_EQ(selection.contiguous(), 4);
  selection.add(contiguous_patch(13, 1));
  EXPECT_EQ(selection.contiguous(), std::nullopt);
  std::vector<Index> run(100);
  std::iota(run.begin(), run.end(), Index{5});
  Selection words;
  words.add(run);
  EXPECT_EQ(words.contiguous(), 5);
}

}  // namespace
}  // namespace impishim::darray
