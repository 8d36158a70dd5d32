// SPDX-License-Identifier: Apache-2.0
// Runs, overlaps and partners of all kinds of maps against a walk over every position.
#include "darray/index/intersect.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "tests/unit/darray/errors.hpp"
#include "tests/unit/darray/index/reference.hpp"

namespace {

using impishim::darray::IndexRun;
using impishim::darray::Overlap;
using impishim::darray::overlaps;
using impishim::darray::partners;
using impishim::darray::RepeatedRun;
using impishim_test::Case;
using impishim_test::cases;
using impishim_test::DimMap;
using impishim_test::error_of;
using impishim_test::Index;
using impishim_test::sections;
using impishim_test::Triplet;

using Places = std::vector<std::pair<Index, Index>>;  // position, local
using Runs = std::vector<IndexRun>;                   // Test::IndexRun() hides the type in a test
using Pairs = std::vector<std::tuple<Index, Index, Index>>;  // position, local of a, local of b

Index local_in(const std::vector<Index>& piece, Index global) {
  const auto found = std::find(piece.begin(), piece.end(), global);
  return found == piece.end() ? -1 : found - piece.begin();
}

Places expected_places(const std::vector<Index>& piece, const Triplet& section) {
  Places places;
  for (Index position = 0; position < section.count; ++position) {
    const Index local = local_in(piece, section.at(position));
    if (local >= 0) places.emplace_back(position, local);
  }
  return places;
}

void add_run(const IndexRun& run, Index position, Index local, Places& places) {
  for (Index j = 0; j < run.count; ++j) {
    places.emplace_back(run.position + position + j * run.position_step,
                        run.local + local + j * run.local_step);
  }
}

void check_runs(const Case& each, const Triplet& section) {
  for (int part = 0; part < each.map.parts(); ++part) {
    const Places expected = expected_places(each.pieces[static_cast<std::size_t>(part)], section);
    Places places;
    Index last = -1;
    for (const IndexRun& run : each.map.runs(part, section)) {
      ASSERT_GT(run.position, last);
      ASSERT_GE(run.position_step, 1);
      last = run.position;
      add_run(run, 0, 0, places);
    }
    std::sort(places.begin(), places.end());
    ASSERT_EQ(places, expected);
    places.clear();
    last = -1;
    for (const RepeatedRun& repeated : each.map.repeated_runs(part, section)) {
      ASSERT_GT(repeated.run.position, last);
      last = repeated.run.position;
      for (Index i = 0; i < repeated.repeats; ++i) {
        add_run(repeated.run, i * repeated.position_period, i * repeated.local_period, places);
      }
    }
    std::sort(places.begin(), places.end());
    ASSERT_EQ(places, expected);
  }
}

TEST(Runs, OfEveryKindAndSection) {
  for (int parts = 1; parts <= 4; ++parts) {
    for (Index extent = 0; extent <= 3 * parts + 1; ++extent) {
      const auto all = sections(extent, extent > 6);
      for (const Case& each : cases(extent, parts, 5)) {
        SCOPED_TRACE(each.name);
        for (const Triplet& section : all) {
          SCOPED_TRACE(testing::Message()
                       << section.start << '+' << section.count << '*' << section.step);
          ASSERT_NO_FATAL_FAILURE(check_runs(each, section));
        }
      }
    }
  }
}

TEST(Runs, OfAPatternAreFewHoweverLongTheSection) {
  const Index extent = Index{1} << 40;
  const DimMap map = DimMap::block_cyclic(extent, 4, 3);
  EXPECT_EQ(map.repeated_runs(1, {0, extent, 1}),
            (std::vector<RepeatedRun>{{{3, 91625968982, 12, 0, 3}, 1, 0, 0},
                                      {{4, 2, 1, 1, 1}, 91625968981, 12, 3}}));
  EXPECT_EQ(map.position_period(1), 12);
  EXPECT_EQ(map.position_period(-8), 3);
  EXPECT_LE(map.repeated_runs(1, {extent - 1, extent / 5, -5}).size(), 4U);
  EXPECT_EQ(DimMap::block_cyclic(100, 4).runs(1, {0, 100, 1}), (Runs{{1, 25, 4, 0, 1}}));
  EXPECT_EQ(DimMap::block(100, 4).runs(1, {90, 30, -3}), (Runs{{14, 8, 1, 23, -3}}));
  EXPECT_EQ(DimMap::unstructured({{5, 7, 9, 11, 2, 3}}, true).runs(0, {0, 20, 1}),
            (Runs{{2, 2, 1, 4, 1}, {5, 4, 2, 0, 1}}));
}

void add_overlap(const Overlap& overlap, Pairs& pairs) {
  ASSERT_GE(overlap.position_step, 1);
  for (Index i = 0; i < overlap.repeats; ++i) {
    for (Index j = 0; j < overlap.count; ++j) {
      pairs.emplace_back(overlap.position + i * overlap.position_period + j * overlap.position_step,
                         overlap.local_a + i * overlap.period_a + j * overlap.step_a,
                         overlap.local_b + i * overlap.period_b + j * overlap.step_b);
    }
  }
}

/// For each part and each index its local one, or -1.
std::vector<std::vector<Index>> locals_of(const Case& each) {
  std::vector<std::vector<Index>> locals;
  for (const auto& piece : each.pieces) {
    locals.emplace_back(static_cast<std::size_t>(each.map.extent()), -1);
    for (std::size_t local = 0; local < piece.size(); ++local) {
      locals.back()[static_cast<std::size_t>(piece[local])] = static_cast<Index>(local);
    }
  }
  return locals;
}

void check_overlaps(const Case& a, const Triplet& section_a, const Case& b,
                    const Triplet& section_b) {
  const auto locals_a = locals_of(a);
  const auto locals_b = locals_of(b);
  for (int part_a = 0; part_a < a.map.parts(); ++part_a) {
    std::vector<int> found_partners;
    for (int part_b = 0; part_b < b.map.parts(); ++part_b) {
      Pairs expected;
      for (Index position = 0; position < section_a.count; ++position) {
        const Index local_a = locals_a[static_cast<std::size_t>(part_a)]
                                      [static_cast<std::size_t>(section_a.at(position))];
        const Index local_b = locals_b[static_cast<std::size_t>(part_b)]
                                      [static_cast<std::size_t>(section_b.at(position))];
        if (local_a >= 0 && local_b >= 0) expected.emplace_back(position, local_a, local_b);
      }
      if (!expected.empty()) found_partners.push_back(part_b);
      Pairs pairs;
      Index elements = 0;
      for (const Overlap& overlap : overlaps(a.map, part_a, section_a, b.map, part_b, section_b)) {
        add_overlap(overlap, pairs);
        elements += overlap.elements();
      }
      std::sort(pairs.begin(), pairs.end());
      ASSERT_EQ(pairs, expected) << part_a << ", " << part_b;
      ASSERT_EQ(elements, static_cast<Index>(expected.size()));
    }
    ASSERT_EQ(partners(a.map, part_a, section_a, b.map, section_b), found_partners) << part_a;
  }
}

void check_pairs(const std::vector<Case>& all_a, Index extent_a, const std::vector<Case>& all_b,
                 Index extent_b, Index period) {
  const auto sections_a = sections(extent_a, true);
  const auto sections_b = sections(extent_b, true);
  Index number = 0;
  for (const Case& a : all_a) {
    for (const Case& b : all_b) {
      SCOPED_TRACE(a.name + " | " + b.name);
      for (const Triplet& section_a : sections_a) {
        for (const Triplet& section_b : sections_b) {
          if (section_a.count != section_b.count || number++ % period != 0) continue;
          SCOPED_TRACE(testing::Message() << section_a.start << '+' << section_a.count << '*'
                                          << section_a.step << " | " << section_b.start << '+'
                                          << section_b.count << '*' << section_b.step);
          ASSERT_NO_FATAL_FAILURE(check_overlaps(a, section_a, b, section_b));
        }
      }
    }
  }
}

TEST(Overlaps, OfEveryPairOfKindsOverTheWholeAxis) {
  for (int parts_a = 1; parts_a <= 4; ++parts_a) {
    for (int parts_b = 1; parts_b <= 4; ++parts_b) {
      for (Index extent = 0; extent <= 3 * std::max(parts_a, parts_b) + 1; ++extent) {
        const Triplet whole{0, extent, 1};
        for (const Case& a : cases(extent, parts_a, 5)) {
          for (const Case& b : cases(extent, parts_b, 3)) {
            SCOPED_TRACE(a.name + " | " + b.name);
            ASSERT_NO_FATAL_FAILURE(check_overlaps(a, whole, b, whole));
          }
        }
      }
    }
  }
}

TEST(Overlaps, OfEveryPairOfKindsOverSections) {
  check_pairs(cases(11, 3, 3), 11, cases(9, 2, 3), 9, 5);
  check_pairs(cases(12, 2, 2), 12, cases(13, 4, 2), 13, 11);
}

TEST(Overlaps, OverManyPeriods) {
  // 180 elements are five common periods of 36 and some.
  for (const Index extent : {180, 203}) {
    const auto all_a = cases(extent, 2, 3);
    const auto all_b = cases(extent, 3, 4);
    for (const Triplet& section :
         {Triplet{0, extent, 1}, {extent - 1, extent, -1}, {3, (extent - 3) / 2, 2}}) {
      for (const Case& a : all_a) {
        for (const Case& b : all_b) {
          SCOPED_TRACE(a.name + " | " + b.name);
          ASSERT_NO_FATAL_FAILURE(check_overlaps(a, section, b, {0, section.count, 1}));
        }
      }
    }
  }
}

TEST(Overlaps, OfTheRemapExample) {
  // 10 elements, blocks on two parts to blocks of two dealt to three.
  const DimMap a = DimMap::block(10, 2);
  const DimMap b = DimMap::block_cyclic(10, 3, 2);
  const Triplet whole{0, 10, 1};
  const auto moved = [&](int from, int to) {
    std::vector<Index> globals;
    for (const Overlap& each : overlaps(a, from, whole, b, to, whole)) {
      for (Index i = 0; i < each.repeats; ++i) {
        for (Index j = 0; j < each.count; ++j)
          globals.push_back(a.global(from, each.local_a + i * each.period_a + j * each.step_a));
      }
    }
    return globals;
  };
  EXPECT_EQ(moved(0, 0), (std::vector<Index>{0, 1}));
  EXPECT_EQ(moved(0, 1), (std::vector<Index>{2, 3}));
  EXPECT_EQ(moved(0, 2), (std::vector<Index>{4}));
  EXPECT_EQ(moved(1, 0), (std::vector<Index>{6, 7}));
  EXPECT_EQ(moved(1, 1), (std::vector<Index>{8, 9}));
  EXPECT_EQ(moved(1, 2), (std::vector<Index>{5}));
}

TEST(Overlaps, OfLabelsThatSeveralPartsHave) {
  const DimMap a = DimMap::unstructured({{0, 2, 4}, {1, 2, 3}}, false);
  const DimMap b = DimMap::collapsed(5);
  const Triplet labels{0, 5, 1};
  EXPECT_EQ(overlaps(a, 1, labels, b, 0, labels), (std::vector<Overlap>{{1, 3, 1, 0, 1, 1, 1}}));
  EXPECT_EQ(overlaps(a, 0, labels, b, 0, labels), (std::vector<Overlap>{{0, 3, 2, 0, 1, 0, 2}}));
  EXPECT_EQ(partners(b, 0, labels, a, labels), (std::vector<int>{0, 1}));
  EXPECT_EQ(partners(DimMap::bounded({0, 1, 5}), 0, labels, a, labels), (std::vector<int>{0}));
  EXPECT_EQ(overlaps(a, 0, labels, a, 1, labels), (std::vector<Overlap>{{2, 1, 1, 1, 1, 1, 1}}));
}

TEST(Overlaps, OfLongAxesAreFew) {
  const Index extent = Index{1} << 40;
  const Triplet whole{0, extent, 1};
  const DimMap coarse = DimMap::block_cyclic(extent, 2, 128);
  const DimMap fine = DimMap::block_cyclic(extent, 2, 36);
  const auto found = overlaps(fine, 0, whole, coarse, 1, whole);
  EXPECT_LT(found.size(), 64U);  // a common period has 32 blocks of the one and 9 of the other,
                                 // half of them each part's
  Index elements = 0;
  for (const Overlap& each : found) elements += each.elements();
  Index others = 0;
  for (const Overlap& each : overlaps(fine, 0, whole, coarse, 0, whole)) others += each.elements();
  EXPECT_EQ(elements + others, fine.owned(0));
  EXPECT_EQ(
      overlaps(DimMap::block(extent, 1000), 500, whole, DimMap::block(extent, 999), 500, whole)
          .size(),
      1U);
  EXPECT_EQ(partners(DimMap::block(extent, 1000), 500, whole, DimMap::block(extent, 999), whole),
            (std::vector<int>{499, 500}));
  EXPECT_EQ(partners(fine, 0, whole, DimMap::block(extent, 4), whole),
            (std::vector<int>{0, 1, 2, 3}));
}

TEST(Overlaps, OfSingleElementsWithAnyStep) {
  const Index largest = std::numeric_limits<Index>::max();
  const auto all = cases(9, 3, 2);
  for (const Index step : {largest, -largest, largest / 2, Index{-7}}) {
    for (Index start = 0; start < 9; ++start) {
      for (const Case& a : all) {
        ASSERT_NO_FATAL_FAILURE(check_runs(a, {start, 1, step}));
        for (const Case& b : all)
          ASSERT_NO_FATAL_FAILURE(check_overlaps(a, {start, 1, step}, b, {8 - start, 1, -step}));
      }
    }
  }
}

TEST(Overlaps, OfBadSectionsAreErrors) {
  const DimMap map = DimMap::block(5, 2);
  EXPECT_EQ(error_of([&] {
              (void)overlaps(map, 0, {0, 5, 1}, map, 0, {0, 4, 1});
            }),
            "argument: sections of 5 and 4 elements: both numbers are equal");
  EXPECT_EQ(error_of([&] {
              (void)partners(map, 0, {0, 2, 5}, map, {0, 2, 1});
            }),
            "key: axis 0: the triplet start 0 count 2 step 5 leaves the extent 5");
  EXPECT_EQ(error_of([&] {
              (void)map.runs(0, {0, 6, 1});
            }),
            "key: axis 0: the triplet start 0 count 6 step 1 leaves the extent 5");
  EXPECT_EQ(error_of([&] {
              (void)map.runs(2, {0, 5, 1});
            }),
            "argument: part 2 of a map with 2 parts");
  EXPECT_EQ(error_of([&] {
              (void)overlaps(map, 0, {0, 5, 1}, map, 2, {0, 5, 1});
            }),
            "argument: part 2 of a map with 2 parts");
}

}  // namespace
