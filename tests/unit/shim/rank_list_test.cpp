// SPDX-License-Identifier: Apache-2.0
// Set operations on groups: every pair of small groups against what sets say, orders, errors of
// ranks and ranges.
#include "shim/values/rank_list.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace impishim::shim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::int32_t> ranks(const Result<std::vector<std::int32_t>>& result) {
  EXPECT_TRUE(result.ok()) << result.error().text;
  return result.ok() ? *result : std::vector<std::int32_t>{};
}

/// All orders of all subsets of {0, ..., 3}.
std::vector<RankList> small_groups() {
  std::vector<RankList> groups;
  for (unsigned mask = 0; mask < 16; ++mask) {
    RankList group;
    for (std::int32_t process = 0; process < 4; ++process) {
      if ((mask >> static_cast<unsigned>(process) & 1U) != 0) group.push_back(process);
    }
    do groups.push_back(group);
    while (std::next_permutation(group.begin(), group.end()));
  }
  return groups;
}

bool has(const RankList& group, wire::WorldRank process) {
  return std::find(group.begin(), group.end(), process) != group.end();
}

TEST(RankList, UnionIntersectionAndDifferenceOfAllSmallGroups) {
  const auto groups = small_groups();
  EXPECT_EQ(groups.size(), 65U);
  for (const RankList& one : groups) {
    for (const RankList& two : groups) {
      // Straight from MPI-3.1 6.3.2: members of the first in its order, then those of the second
      // that are new.
      RankList both = one;
      for (const auto process : two) {
        if (!has(one, process)) both.push_back(process);
      }
      EXPECT_EQ(union_of(one, two), both);
      RankList common;
      RankList rest;
      for (const auto process : one) (has(two, process) ? common : rest).push_back(process);
      EXPECT_EQ(intersection_of(one, two), common);
      EXPECT_EQ(difference_of(one, two), rest);
      const bool same_set = std::set(one.begin(), one.end()) == std::set(two.begin(), two.end());
      EXPECT_EQ(compare(one, two), one == two ? Likeness::kIdentical
                                   : same_set ? Likeness::kSimilar
                                              : Likeness::kUnequal);
    }
  }
}

TEST(RankList, RanksOfMembersAndOthers) {
  const RankList group{7, 2, 9};
  EXPECT_EQ(rank_of(group, 9), 2);
  EXPECT_EQ(rank_of(group, 3), kNoMember);
  EXPECT_THAT(ranks_of(group, RankList{9, 3, 7}), ElementsAre(2, kNoMember, 0));
  EXPECT_THAT(ranks_of({}, RankList{1}), ElementsAre(kNoMember));
}

TEST(RankList, IncludedKeepsTheOrderOfTheRanksExcludedThatOfTheGroup) {
  const RankList group{10, 11, 12, 13};
  EXPECT_THAT(ranks(included(group, std::vector<std::int32_t>{3, 0})), ElementsAre(13, 10));
  EXPECT_THAT(ranks(included(group, {})), IsEmpty());
  EXPECT_THAT(ranks(excluded(group, std::vector<std::int32_t>{3, 0})), ElementsAre(11, 12));
  EXPECT_EQ(ranks(excluded(group, {})), group);
}

TEST(RankList, RanksOutOfRangeOrTwiceAreErrors) {
  const RankList group{10, 11};
  for (const auto& wrong : {std::vector<std::int32_t>{2}, {-1}, {0, 2}}) {
    EXPECT_THAT(included(group, wrong).error().text, HasSubstr("not in a group of 2"));
    EXPECT_THAT(excluded(group, wrong).error().text, HasSubstr("not in a group of 2"));
  }
  EXPECT_THAT(included(group, std::vector<std::int32_t>{1, 1}).error().text,
              HasSubstr("rank 1 is named twice"));
  EXPECT_THAT(excluded(group, std::vector<std::int32_t>{0, 1, 0}).error().text,
              HasSubstr("rank 0 is named twice"));
}

TEST(RankList, RangesInBothDirections) {
  const std::vector<RankRange> ranges{{0, 4, 2}, {9, 5, -3}, {7, 7, 5}};
  EXPECT_THAT(ranks(expanded(ranges, 10)), ElementsAre(0, 2, 4, 9, 6, 7));
}

TEST(RankList, RangesOutOfRangeOrWithoutStrideAreErrors) {
  EXPECT_THAT(expanded(std::vector<RankRange>{{0, 3, 0}}, 4).error().text,
              HasSubstr("in steps of 0"));
  for (const RankRange away : {RankRange{3, 1, 1}, RankRange{1, 3, -1}}) {
    EXPECT_THAT(expanded(std::vector<RankRange>{away}, 4).error().text, HasSubstr("a range from"));
  }
  EXPECT_THAT(expanded(std::vector<RankRange>{{0, 4, 1}}, 4).error().text, HasSubstr("rank 4"));
  EXPECT_THAT(expanded(std::vector<RankRange>{{2, -1, -1}}, 4).error().text, HasSubstr("rank -1"));
  // The step after the first rank leaves the range of an int.
  EXPECT_THAT(
      ranks(expanded(std::vector<RankRange>{{1, 3, 2147483647}, {3, 1, -2147483647 - 1}}, 4)),
      ElementsAre(1, 3));
}

}  // namespace
}  // namespace impishim::shim
