// SPDX-License-Identifier: Apache-2.0
#include "darray/plan/shift/shift.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "darray/index/make_distribution.hpp"
#include "tests/unit/darray/errors.hpp"
#include "tests/unit/darray/plan/simulation.hpp"
#include "tests/unit/darray/random_layout.hpp"

namespace impishim_test {
namespace {

using namespace impishim::darray;  // NOLINT: the library under test
using testing::ElementsAre;

constexpr Index kFilled = -9;

/// All elements in flat order; those that copies disagree about, or nobody has, are -100.
std::vector<Index> collected(const Distribution& layout, Buffers buffers) {
  std::vector<Index> all(static_cast<std::size_t>(layout.size()), -100);
  std::vector<bool> seen(all.size(), false);
  for_all_owned(layout, buffers, [&](int, const std::vector<Index>& global, Index& element) {
    const auto place = static_cast<std::size_t>(flat(global, layout.shape()));
    all[place] = seen[place] && all[place] != element ? -100 : element;
    seen[place] = true;
  });
  return all;
}

std::vector<Index> shifted(Index amount, ShiftMode mode) {
  const auto layout = Distribution::make(ProcessGrid({3}), {{DimMap::balanced(8, 3), 0}});
  const Simulation plans(3, [&](int rank) {
    return plan_shift(rank, one_system(3), {*layout}, {*layout}, 0, amount, mode);
  });
  EXPECT_EQ(plans.defect(), "");
  Buffers destinations = filled(*layout, 3, [](const auto&) { return -1; });
  plans.run(filled(*layout, 3, [](const auto& global) { return 10 + global[0]; }), destinations,
            kFilled);
  return collected(*layout, destinations);
}

TEST(Shift, OfALineT12) {
  EXPECT_THAT(shifted(2, ShiftMode::kEdge), ElementsAre(12, 13, 14, 15, 16, 17, -1, -1));
  EXPECT_THAT(shifted(2, ShiftMode::kCyclic), ElementsAre(12, 13, 14, 15, 16, 17, 10, 11));
  EXPECT_THAT(shifted(-3, ShiftMode::kEdge), ElementsAre(-1, -1, -1, 10, 11, 12, 13, 14));
  EXPECT_THAT(shifted(-3, ShiftMode::kCyclic), ElementsAre(15, 16, 17, 10, 11, 12, 13, 14));
  EXPECT_THAT(shifted(2, ShiftMode::kFill), ElementsAre(12, 13, 14, 15, 16, 17, kFilled, kFilled));
  EXPECT_THAT(shifted(-3, ShiftMode::kFill),
              ElementsAre(kFilled, kFilled, kFilled, 10, 11, 12, 13, 14));
  EXPECT_THAT(shifted(2, ShiftMode::kNone), testing::Each(-1));
}

TEST(Shift, ByMoreThanTheExtent) {
  constexpr Index kMost = std::numeric_limits<Index>::max();
  EXPECT_THAT(shifted(18, ShiftMode::kCyclic),
              testing::ElementsAreArray(shifted(2, ShiftMode::kCyclic)));
  EXPECT_THAT(shifted(-11, ShiftMode::kCyclic),
              testing::ElementsAreArray(shifted(-3, ShiftMode::kCyclic)));
  for (const Index amount : {Index{8}, Index{-8}, kMost, -kMost - 1}) {
    EXPECT_THAT(shifted(amount, ShiftMode::kEdge), testing::Each(-1));
    EXPECT_THAT(shifted(amount, ShiftMode::kFill), testing::Each(kFilled));
  }
}

TEST(Skew, OfAMatrixT12) {
  const std::vector<Index> amounts{0, 1, 2};
  for (const int rows : {1, 3}) {
    for (const int columns : {1, 2, 4}) {
      const auto layout =
          Distribution::make(ProcessGrid({rows, columns}),
                             {{DimMap::block(3, rows), 0}, {DimMap::block(4, columns), 1}});
      const int ranks = rows * columns;
      const auto skewed = [&](ShiftMode mode) {
        const Simulation plans(ranks, [&](int rank) {
          const auto [begin, end] = layout->axis(0).map.block_of(layout->part(rank, 0));
          return plan_skew(rank, {*layout}, {*layout}, 1,
                           std::span(amounts).subspan(static_cast<std::size_t>(begin),
                                                      static_cast<std::size_t>(end - begin)),
                           mode);
        });
        EXPECT_EQ(plans.defect(), "");
        Buffers destinations = filled(*layout, ranks, [](const auto&) { return -1; });
        plans.run(filled(*layout, ranks,
                         [](const auto& global) {
                           return flat(global, {3, 4});
                         }),
                  destinations, kFilled);
        return collected(*layout, destinations);
      };
      EXPECT_THAT(skewed(ShiftMode::kCyclic), ElementsAre(0, 1, 2, 3, 5, 6, 7, 4, 10, 11, 8, 9));
      EXPECT_THAT(skewed(ShiftMode::kEdge), ElementsAre(0, 1, 2, 3, 5, 6, 7, -1, 10, 11, -1, -1));
      EXPECT_THAT(skewed(ShiftMode::kFill),
                  ElementsAre(0, 1, 2, 3, 5, 6, 7, kFilled, 10, 11, kFilled, kFilled));
    }
  }
}

/// What a shift by `amount` of this position leaves there.
Index shifted_value(std::vector<Index> global, std::size_t axis, Index amount, ShiftMode mode,
                    const std::vector<Index>& shape) {
  const Index extent = shape[axis];
  Index from = global[axis] + amount;
  if (mode == ShiftMode::kNone) return -1;
  if (mode == ShiftMode::kCyclic) from = (from % extent + extent) % extent;
  if (from < 0 || from >= extent) return mode == ShiftMode::kFill ? kFilled : -1;
  global[axis] = from;
  return 1000 + flat(global, shape);
}

constexpr ShiftMode kModes[] = {ShiftMode::kEdge, ShiftMode::kCyclic, ShiftMode::kNone,
                                ShiftMode::kFill};

TEST(Shift, OfRandomLayoutsEqualsASerialOne) {
  for (unsigned seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Chance chance(seed);
    const int ranks = chance.small(1, 7);
    std::vector<Index> shape;
    for (int axis = chance.small(1, 3); axis > 0; --axis) shape.push_back(chance.number(0, 7));
    const LayoutChoice choice{.unstructured = false};
    const auto to = random_layout(chance, shape, ranks, choice);
    const auto from = random_layout(chance, shape, ranks, choice);
    const auto axis =
        static_cast<std::size_t>(chance.number(0, static_cast<Index>(shape.size()) - 1));
    const Index amount = chance.number(-9, 9);
    const ShiftMode mode = kModes[chance.small(0, 3)];
    const int first = chance.small(1, ranks);
    const Systems systems = first < ranks ? systems_of({first, ranks - first}) : one_system(ranks);
    const Simulation plans(ranks, [&](int rank) {
      return plan_shift(rank, systems, {*to}, {*from}, static_cast<int>(axis), amount, mode);
    });
    ASSERT_EQ(plans.defect(), "");
    Buffers destinations = filled(*to, ranks, [](const auto&) { return -1; });
    plans.run(filled(*from, ranks, [&](const auto& global) { return 1000 + flat(global, shape); }),
              destinations, kFilled);
    ASSERT_EQ(destinations, filled(*to, ranks, [&](const auto& global) {
                return shifted_value(global, axis, amount, mode, shape);
              }));
  }
}

TEST(Skew, OfRandomLayoutsEqualsASerialOne) {
  for (unsigned seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Chance chance(seed);
    const int ranks = chance.small(1, 8);
    std::vector<Index> shape;
    for (int axis = chance.small(1, 3); axis > 0; --axis) shape.push_back(chance.number(0, 7));
    const auto layout = random_layout(chance, shape, ranks, {.unstructured = false});
    const auto axis =
        static_cast<std::size_t>(chance.number(0, static_cast<Index>(shape.size()) - 1));
    const ShiftMode mode = kModes[chance.small(0, 3)];
    const Index spread = chance.number(0, 9);
    const auto amount_of = [&](std::vector<Index> global) {
      global[axis] = 0;
      return (flat(global, shape) * 7 + 3) % (2 * spread + 1) - spread;
    };
    const Simulation plans(ranks, [&](int rank) {
      std::vector<Index> amounts;
      if (layout->is_member(rank)) {
        std::vector<Index> lines = layout->owned_shape(rank);
        lines[axis] = 1;
        Index count = 1;
        for (const Index extent : lines) count *= extent;
        for (Index line = 0; line < count; ++line) {
          std::vector<Index> global(shape.size());
          Index rest = line;
          for (std::size_t each = shape.size(); each-- > 0;) {
            if (each != axis) {
              global[each] = layout->axes()[each].map.global(
                  layout->part(rank, static_cast<int>(each)), rest % lines[each]);
            }
            rest /= lines[each];
          }
          amounts.push_back(amount_of(global));
        }
      }
      return plan_skew(rank, {*layout}, {*layout}, static_cast<int>(axis), amounts, mode);
    });
    ASSERT_EQ(plans.defect(), "");
    Buffers destinations = filled(*layout, ranks, [](const auto&) { return -1; });
    plans.run(
        filled(*layout, ranks, [&](const auto& global) { return 1000 + flat(global, shape); }),
        destinations, kFilled);
    ASSERT_EQ(destinations, filled(*layout, ranks, [&](const auto& global) {
                return shifted_value(global, axis, amount_of(global), mode, shape);
              }));
  }
}

TEST(Shift, NamesWhatDoesNotFit) {
  const auto five = make_distribution(std::array<Index, 1>{5}, 2);
  const auto six = make_distribution(std::array<Index, 1>{6}, 2);
  const auto cyclic = make_distribution(std::array<Index, 1>{5}, 2, {.kinds = "c"});
  const Systems systems = one_system(2);
  const auto shift_error = [&](const RemapSide& to, const RemapSide& from, int axis) {
    return error_of(
        [&] { static_cast<void>(plan_shift(0, systems, to, from, axis, 1, ShiftMode::kEdge)); });
  };
  EXPECT_EQ(shift_error({*five}, {*five}, 1), "argument: a shift along axis 1 of an array with 1");
  EXPECT_EQ(shift_error({*five}, {*six}, 0), "shape: a shift between arrays of different shapes");
  EXPECT_THAT(shift_error({*five, {{0, 5, 1}}}, {*five}, 0), testing::StartsWith("unsupported: "));
  const auto skew_error = [&](const RemapSide& to, const RemapSide& from,
                              const std::vector<Index>& amounts) {
    return error_of(
        [&] { static_cast<void>(plan_skew(0, to, from, 0, amounts, ShiftMode::kEdge)); });
  };
  EXPECT_EQ(skew_error({*five}, {*five}, {1, 2}), "shape: axis 0: 2 amounts for 1 lines");
  EXPECT_THAT(skew_error({*five}, {*cyclic}, {1}), testing::StartsWith("layout: axis 0: "));
}

}  // namespace
}  // namespace impishim_test
