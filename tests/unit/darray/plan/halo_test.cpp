// SPDX-License-Identifier: Apache-2.0
#include "darray/plan/halo/halo.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "darray/index/make_distribution.hpp"
#include "tests/unit/darray/errors.hpp"
#include "tests/unit/darray/plan/simulation.hpp"
#include "tests/unit/darray/random_layout.hpp"

namespace impishim_test {
namespace {

using namespace impishim::darray;  // NOLINT: the library under test
using testing::ElementsAre;

Simulation halo_of(int ranks, const Distribution& layout, const HaloOptions& options = {}) {
  return {ranks, [&](int rank) { return plan_halo(rank, layout, options); }};
}

Buffers after_halo(const Distribution& layout, Buffers buffers, const HaloOptions& options = {},
                   Index fill = 0) {
  const Simulation plans = halo_of(static_cast<int>(buffers.size()), layout, options);
  EXPECT_EQ(plans.defect(), "");
  const Buffers before = buffers;
  plans.run(before, buffers, fill);
  return buffers;
}

Index only(const std::vector<Index>& global) { return global[0]; }

DistributionPtr line(const std::vector<Index>& bounds, const std::vector<Ghosts>& ghosts,
                     Ghosts boundary = {}, bool periodic = false) {
  const DimMap map = DimMap::bounded(bounds);
  return Distribution::make(ProcessGrid({map.parts()}), {{map, 0, ghosts, boundary, periodic}});
}

TEST(Halo, OfPaddedBlocksT2) {
  // The outer cells are boundary, which is owned: they stay, as the axis is no ring.
  const auto layout = line({0, 9, 18}, {{0, 1}, {1, 0}}, {1, 1});
  Buffers data{{2, 6, 9, 6, 8, 4, 2, 2, 3, 9}, {3, 9, 2, 10, 4, 5, 0, 6, 8, 6}};
  const Buffers published = data;
  EXPECT_EQ(after_halo(*layout, data), published);
  data[0].back() = -1;
  data[1].front() = -1;
  EXPECT_EQ(after_halo(*layout, data), published);
}

TEST(Halo, OfPeriodicBoundariesT4) {
  const auto alone = line({0, 10}, {}, {2, 2}, true);
  EXPECT_THAT(after_halo(*alone, filled(*alone, 1, only))[0],
              ElementsAre(6, 7, 2, 3, 4, 5, 6, 7, 2, 3));
  const auto open = line({0, 10}, {}, {2, 2}, false);
  EXPECT_EQ(after_halo(*open, filled(*open, 1, only)), filled(*open, 1, only));
  const auto two = line({0, 9, 18}, {{0, 1}, {1, 0}}, {1, 1}, true);
  const Buffers data = after_halo(*two, filled(*two, 2, only));
  EXPECT_THAT(data[0], ElementsAre(16, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_THAT(data[1], ElementsAre(8, 9, 10, 11, 12, 13, 14, 15, 16, 1));
}

TEST(Halo, WiderThanTheNeighbourT12) {
  const auto layout = line({0, 2, 3}, {{3, 3}, {3, 3}});
  const HaloOptions ring{.axes = {{HaloMode::kCyclic}}};
  const Buffers data = after_halo(*layout, filled(*layout, 2, only), ring);
  EXPECT_THAT(data[0], ElementsAre(0, 1, 2, 0, 1, 2, 0, 1));
  EXPECT_THAT(data[1], ElementsAre(2, 0, 1, 2, 0, 1, 2));
}

class Square : public testing::Test {
 protected:
  static Buffers square(const HaloOptions& options) {
    return after_halo(*layout(),
                      filled(*layout(), 4,
                             [](const auto& global) {
                               return flat(global, {4, 4});
                             }),
                      options);
  }
  static DistributionPtr layout() {
    return make_distribution(std::array<Index, 2>{4, 4}, 4,
                             {.kinds = "bb", .grid = {2, 2}, .ghosts = {{0, {1, 1}}, {1, {1, 1}}}});
  }
};

TEST_F(Square, HasItsCornersT12) {
  const Buffers data = square({.axes = {{HaloMode::kCyclic}, {HaloMode::kCyclic}}});
  EXPECT_THAT(data[0], ElementsAre(15, 12, 13, 14, 3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10));
  EXPECT_THAT(data[3], ElementsAre(5, 6, 7, 4, 9, 10, 11, 8, 13, 14, 15, 12, 1, 2, 3, 0));
}

TEST_F(Square, KeepsEdgesAndAxesWithoutHaloT12) {
  const Buffers edge = square({.axes = {{HaloMode::kEdge}, {HaloMode::kCyclic}}});
  EXPECT_THAT(edge[0], ElementsAre(-1, -1, -1, -1, 3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10));
  const Buffers none = square({.axes = {{HaloMode::kCyclic}, {HaloMode::kNone}}});
  EXPECT_THAT(none[0], ElementsAre(-1, 12, 13, -1, -1, 0, 1, -1, -1, 4, 5, -1, -1, 8, 9, -1));
}

TEST_F(Square, HasFacesAlone) {
  const Buffers data =
      square({.axes = {{HaloMode::kCyclic}, {HaloMode::kCyclic}}, .corners = false});
  EXPECT_THAT(data[0], ElementsAre(-1, 12, 13, -1, 3, 0, 1, 2, 7, 4, 5, 6, -1, 8, 9, -1));
}

TEST_F(Square, IsFilledBeyondItsEdges) {
  const HaloOptions options{.axes = {{HaloMode::kFill}, {HaloMode::kEdge}}, .fill = Index{77}};
  Buffers data = filled(*layout(), 4, [](const auto& global) { return flat(global, {4, 4}); });
  data = after_halo(*layout(), data, options, 77);
  EXPECT_THAT(data[0], ElementsAre(-1, 77, 77, 77, -1, 0, 1, 2, -1, 4, 5, 6, -1, 8, 9, 10));
}

TEST_F(Square, ReducesItsGhostsBackT12) {
  Buffers data = filled(*layout(), 4, [](const auto&) { return 0; });
  for (auto& buffer : data) std::ranges::replace(buffer, -1, 1);
  const Buffers ghosts = data;
  const Simulation plans =
      halo_of(4, *layout(), {.axes = {{HaloMode::kCyclic}, {HaloMode::kCyclic}}});
  plans.run_backward(data, ghosts, [](Index there, Index arriving) { return there + arriving; });
  for_all_owned(*layout(), data, [](int, const auto&, Index& element) { EXPECT_EQ(element, 3); });
  for (const auto& buffer : data) EXPECT_EQ(std::ranges::count(buffer, 1), 12);
}

TEST_F(Square, SendsOneMessageToEachNeighbour) {
  const Simulation ring =
      halo_of(4, *layout(), {.axes = {{HaloMode::kCyclic}, {HaloMode::kCyclic}}});
  EXPECT_EQ(ring.messages(), 12);
  EXPECT_EQ(ring.moved(), 48);
  EXPECT_EQ(halo_of(4, *layout(), {.corners = false}).messages(), 8);
}

/// The cell that a ghost stands for, if it is written: of an axis without boundary.
struct Cell {
  bool written = true;
  bool filled = false;
  Index index = 0;
};

Cell cell_of(Index position, Index begin, Index end, Index extent, HaloMode mode,
             const Ghosts& widths) {
  if (position >= begin && position < end) return {true, false, position};
  if (mode == HaloMode::kNone || position < begin - widths.lower || position >= end + widths.upper)
    return {false, false, 0};
  if (position >= 0 && position < extent) return {true, false, position};
  if (mode == HaloMode::kFill) return {true, true, 0};
  if (mode != HaloMode::kCyclic || extent == 0) return {false, false, 0};
  return {true, false, ((position % extent) + extent) % extent};
}

TEST(Halo, OfRandomLayoutsEqualsASerialOne) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Chance chance(seed);
    const int ranks = chance.small(1, 8);
    std::vector<Index> shape;
    for (int axis = chance.small(0, 3); axis > 0; --axis) shape.push_back(chance.number(0, 7));
    const auto layout = random_layout(chance, shape, ranks, {.blocks_only = true});
    HaloOptions options{.corners = !chance.once_in(4), .fill = Index{-9}};
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const HaloMode modes[] = {HaloMode::kAuto, HaloMode::kEdge, HaloMode::kCyclic,
                                HaloMode::kNone, HaloMode::kFill};
      options.axes.push_back({modes[chance.small(0, 4)]});
      Ghosts least{3, 3};
      for (const Ghosts& each : layout->axes()[axis].ghosts) {
        least = {std::min(least.lower, each.lower), std::min(least.upper, each.upper)};
      }
      if (layout->axes()[axis].ghosts.empty()) least = {};
      if (chance.once_in(2))
        options.axes.back().widths =
            Ghosts{chance.number(0, least.lower), chance.number(0, least.upper)};
    }
    const auto value = [&](const std::vector<Index>& global) { return flat(global, shape); };
    const Buffers before = filled(*layout, ranks, value);
    const Buffers after = after_halo(*layout, before, options, -9);
    for (int rank = 0; rank < ranks; ++rank) {
      if (!layout->is_member(rank)) continue;
      const std::vector<Index> extents = layout->local_shape(rank);
      for (Index number = 0; number < layout->local_size(rank); ++number) {
        std::vector<Index> global(shape.size());
        Index rest = number;
        bool written = true;
        bool fill = false;
        int outside = 0;
        for (std::size_t axis = shape.size(); axis-- > 0;) {
          const Ghosts allocated = layout->ghosts(rank, static_cast<int>(axis));
          const auto [begin, end] =
              layout->axes()[axis].map.block_of(layout->part(rank, static_cast<int>(axis)));
          const Index position = rest % extents[axis] - allocated.lower + begin;
          rest /= extents[axis];
          const Cell cell = cell_of(position, begin, end, shape[axis], options.axes[axis].mode,
                                    options.axes[axis].widths.value_or(allocated));
          written = written && cell.written;
          fill = fill || cell.filled;
          outside += position < begin || position >= end ? 1 : 0;
          global[axis] = cell.index;
        }
        if (outside > 1 && !options.corners) written = false;
        const auto at = static_cast<std::size_t>(number);
        const Index expected =
            written ? (fill ? -9 : value(global)) : before[static_cast<std::size_t>(rank)][at];
        ASSERT_EQ(after[static_cast<std::size_t>(rank)][at], expected)
            << "rank " << rank << ", cell " << number;
      }
    }
  }
}

TEST(Halo, NamesWhatDoesNotFit) {
  const auto layout = line({0, 4, 8}, {{1, 1}, {1, 1}});
  const auto error = [&](const HaloOptions& options) {
    return error_of([&] { static_cast<void>(plan_halo(0, *layout, options)); });
  };
  EXPECT_EQ(error({.axes = {{HaloMode::kCyclic, Ghosts{2, 0}}}}),
            "layout: axis 0: a lower halo of 2 cells, but part 0 has 1 ghosts there");
  EXPECT_EQ(error({.axes = {{HaloMode::kEdge, Ghosts{0, 2}}}}),
            "layout: axis 0: an upper halo of 2 cells, but part 0 has 1 ghosts there");
  EXPECT_EQ(error({.axes = {{HaloMode::kEdge, Ghosts{-1, 0}}}}),
            "argument: axis 0: a lower halo of -1 cells");
  EXPECT_EQ(error({.axes = {{}, {}}}), "argument: halos along 2 axes of an array with 1");
  EXPECT_EQ(error({.strides = {1, 1}}), "argument: 2 strides for an array with 1 axes");
}

}  // namespace
}  // namespace impishim_test
