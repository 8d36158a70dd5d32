// SPDX-License-Identifier: Apache-2.0
#include "darray/index/triplet.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

#include "darray/base/divider.hpp"
#include "tests/unit/darray/errors.hpp"

namespace {

using impishim::darray::check_triplet;
using impishim::darray::Divider;
using impishim::darray::element_count;
using impishim::darray::Index;
using impishim::darray::section_size;
using impishim::darray::Slice;
using impishim::darray::Triplet;
using impishim::darray::whole_section;
using impishim::darray::wrap_index;
using impishim_test::error_of;

constexpr Index kLowest = std::numeric_limits<Index>::min();
constexpr Index kHighest = std::numeric_limits<Index>::max();

std::vector<Index> numbers(const Triplet& triplet) {
  std::vector<Index> all;
  for (Index k = 0; k < triplet.count; ++k) all.push_back(triplet.at(k));
  return all;
}

/// What a slice selects, by its definition: from the start on while the stop is not reached,
/// indices that the axis has.
std::vector<Index> selected(const Slice& slice, Index extent) {
  const Index step = slice.step.value_or(1);
  const auto from_end = [&](Index bound) { return bound < 0 ? bound + extent : bound; };
  Index start = slice.start ? from_end(*slice.start) : (step > 0 ? 0 : extent - 1);
  start = step > 0 ? std::max<Index>(start, 0) : std::min(start, extent - 1);
  std::vector<Index> all;
  for (Index i = start; i >= 0 && i < extent; i += step) {
    if (slice.stop && (step > 0 ? i >= from_end(*slice.stop) : i <= from_end(*slice.stop))) break;
    all.push_back(i);
  }
  return all;
}

TEST(Slice, SelectsWhatItsDefinitionSays) {
  std::vector<std::optional<Index>> bounds{std::nullopt, -1000, 1000};
  for (Index bound = -7; bound <= 7; ++bound) bounds.emplace_back(bound);
  for (const Index extent : {0, 1, 2, 5, 6}) {
    for (const auto& start : bounds) {
      for (const auto& stop : bounds) {
        for (const std::optional<Index> step :
             {std::optional<Index>(), {1}, {2}, {4}, {9}, {-1}, {-2}, {-4}, {-9}}) {
          const Slice slice{start, stop, step};
          ASSERT_EQ(numbers(slice.resolve(extent)), selected(slice, extent))
              << start.value_or(-99) << ':' << stop.value_or(-99) << ':' << step.value_or(0)
              << " of " << extent;
        }
      }
    }
  }
}

TEST(Slice, OfD2OsExamples) {
  EXPECT_EQ((Slice{0, 3, 2}.resolve(4)), (Triplet{0, 2, 2}));
  EXPECT_EQ((Slice{{}, {}, -2}.resolve(10)), (Triplet{9, 5, -2}));
  EXPECT_EQ((Slice{5, 1, -2}.resolve(9)), (Triplet{5, 2, -2}));
  EXPECT_EQ((Slice{2, 2, -1}.resolve(9)), (Triplet{2, 0, -1}));
}

TEST(Slice, OfExtremeNumbers) {
  EXPECT_EQ((Slice{kLowest, kHighest, kHighest}.resolve(5)), (Triplet{0, 1, kHighest}));
  EXPECT_EQ((Slice{kHighest, kLowest, kLowest}.resolve(5)), (Triplet{4, 1, -kHighest}));
  EXPECT_EQ((Slice{{}, {}, 1}.resolve(kHighest)), (Triplet{0, kHighest, 1}));
}

TEST(Slice, WithAStepOfZeroOrOfANegativeExtentIsAnError) {
  EXPECT_EQ(error_of([] {
              (void)Slice{0, 1, 0}.resolve(4);
            }),
            "key: slice with step 0: a step is positive or negative");
  EXPECT_EQ(error_of([] { (void)Slice{}.resolve(-1); }),
            "argument: slice of an axis of extent -1: an extent is at least 0");
}

TEST(Triplet, KnowsThePositionOfItsNumbers) {
  for (const Triplet& triplet : {Triplet{3, 4, 2}, {3, 4, -2}, {0, 1, 1}, {5, 0, 1}, {-4, 3, 4}}) {
    for (Index number = -20; number <= 20; ++number) {
      std::optional<Index> expected;
      for (Index k = 0; k < triplet.count; ++k) {
        if (triplet.at(k) == number) expected = k;
      }
      EXPECT_EQ(triplet.position_of(number), expected);
    }
  }
  EXPECT_EQ((Triplet{0, 5, 1}.position_of(kLowest)), std::nullopt);
  EXPECT_EQ((Triplet{kHighest, 5, -1}.position_of(kLowest)), std::nullopt);
  EXPECT_EQ((Triplet{kLowest, 2, kHighest}.position_of(-1)), 1);
}

TEST(Triplet, IsTheSameSetUpwards) {
  EXPECT_EQ((Triplet{9, 5, -2}.ascending()), (Triplet{1, 5, 2}));
  EXPECT_EQ((Triplet{1, 5, 2}.ascending()), (Triplet{1, 5, 2}));
  EXPECT_EQ((Triplet{9, 0, -2}.ascending()), (Triplet{9, 0, 2}));
}

TEST(Triplet, OfATriplet) {
  EXPECT_EQ((Triplet{10, 6, -2}.at(Triplet{1, 2, 3})), (Triplet{8, 2, -6}));
}

TEST(Triplet, HasToLieInItsAxis) {
  EXPECT_NO_THROW(check_triplet({0, 5, 1}, 5));
  EXPECT_NO_THROW(check_triplet({4, 5, -1}, 5));
  EXPECT_NO_THROW(check_triplet({9, 0, 1}, 5));
  EXPECT_EQ(error_of([] {
              check_triplet({1, 5, 1}, 5, 2);
            }),
            "key: axis 2: the triplet start 1 count 5 step 1 leaves the extent 5");
  EXPECT_EQ(error_of([] {
              check_triplet({3, 5, -1}, 5, 1);
            }),
            "key: axis 1: the triplet start 3 count 5 step -1 leaves the extent 5");
  EXPECT_EQ(error_of([] {
              check_triplet({0, 5, 0}, 5);
            }),
            "argument: axis 0: a triplet has step 0");
  EXPECT_EQ(error_of([] {
              check_triplet({0, 1, kLowest}, 5);
            }),
            "argument: axis 0: a triplet has step -2^63");
  EXPECT_EQ(error_of([] {
              check_triplet({0, -1, 1}, 5);
            }),
            "argument: axis 0: a triplet has the negative count -1");
  EXPECT_EQ(error_of([] {
              check_triplet({0, 4, kHighest}, 5);
            }),
            "key: axis 0: the triplet start 0 count 4 step 9223372036854775807 leaves 64 bits");
}

TEST(Section, OfAWholeArray) {
  EXPECT_EQ(whole_section(std::vector<Index>{4, 0}), (std::vector<Triplet>{{0, 4, 1}, {0, 0, 1}}));
  EXPECT_EQ(section_size({{0, 4, 1}, {3, 2, -1}}), 8);
  EXPECT_EQ(section_size({}), 1);
}

TEST(SingleIndex, CountsFromTheEndOnce) {
  EXPECT_EQ(wrap_index(0, 3), 0);
  EXPECT_EQ(wrap_index(-3, 3), 0);
  EXPECT_EQ(wrap_index(-1, 3), 2);
  EXPECT_EQ(error_of([] { (void)wrap_index(-4, 3, 1); }),
            "key: axis 1: index -4 is outside of the extent 3: allowed are -3 to 2");
  EXPECT_EQ(error_of([] { (void)wrap_index(3, 3, 0); }),
            "key: axis 0: index 3 is outside of the extent 3: allowed are -3 to 2");
  EXPECT_EQ(error_of([] { (void)wrap_index(0, 0, 0); }),
            "key: axis 0: index 0 is outside of the extent 0: the axis is empty");
}

TEST(ElementCount, OfAShape) {
  EXPECT_EQ(element_count(std::vector<Index>{}), 1);
  EXPECT_EQ(element_count(std::vector<Index>{3, 4, 5}), 60);
  EXPECT_EQ(element_count(std::vector<Index>{Index{1} << 40, Index{1} << 40, 0}), 0);
  EXPECT_EQ(error_of([] {
              (void)element_count(std::vector<Index>{2, -1});
            }),
            "shape: axis 1: the extent -1 is negative");
  EXPECT_EQ(error_of([] {
              (void)element_count(std::vector<Index>{Index{1} << 40, Index{1} << 23});
            }),
            "shape: the array has more than 2^62 elements");
}

TEST(Divider, IsADivision) {
  std::mt19937_64 random(7);
  std::vector<Index> numbers{0,
                             1,
                             2,
                             3,
                             7,
                             8,
                             9,
                             1000,
                             (Index{1} << 31) - 1,
                             Index{1} << 31,
                             Index{1} << 62,
                             kHighest - 1,
                             kHighest};
  for (int i = 0; i < 200; ++i)
    numbers.push_back(static_cast<Index>(random() >> (1 + random() % 63)));
  for (const Index divisor : numbers) {
    if (divisor == 0) continue;
    const Divider divider(divisor);
    EXPECT_EQ(divider.divisor(), divisor);
    for (const Index number : numbers) {
      const Index multiple = number / divisor * divisor;
      // The last number before the next multiple, if there is one.
      const Index before_next =
          divisor - 1 <= kHighest - multiple ? multiple + (divisor - 1) : kHighest;
      for (const Index near : {number, multiple, before_next}) {
        ASSERT_EQ(divider.quotient(near), near / divisor) << near << " / " << divisor;
        ASSERT_EQ(divider.remainder(near), near % divisor) << near << " / " << divisor;
      }
    }
  }
}

}  // namespace
