// SPDX-License-Identifier: Apache-2.0
// Whole arrays on grids: published pieces, every element's owners, copies, ghosts, comparison, and
// errors with their axis.
#include "darray/index/distribution.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "darray/index/make_distribution.hpp"
#include "tests/unit/darray/errors.hpp"

namespace {

using impishim::darray::Axis;
using impishim::darray::DimMap;
using impishim::darray::Distribution;
using impishim::darray::DistributionOptions;
using impishim::darray::DistributionPtr;
using impishim::darray::Ghosts;
using impishim::darray::Index;
using impishim::darray::kNotDistributed;
using impishim::darray::make_distribution;
using impishim::darray::make_on_one;
using impishim::darray::make_replicated;
using impishim::darray::ProcessGrid;
using impishim_test::error_of;
using Indices = std::vector<Index>;
using Ranks = std::vector<int>;

/// Calls use(indices) for all of them in row-major order.
template <class Use>
void for_each(const Indices& shape, const Use& use) {
  if (std::ranges::find(shape, 0) != shape.end()) return;
  Indices indices(shape.size(), 0);
  for (;;) {
    use(indices);
    std::size_t axis = shape.size();
    while (axis > 0 && ++indices[axis - 1] == shape[axis - 1]) indices[--axis] = 0;
    if (axis == 0) return;
  }
}

Index flat(const Indices& shape, const Indices& indices) {
  Index number = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    number = number * shape[axis] + indices[axis];
  return number;
}

/// The flat global indices of a process's elements, in the row-major order of its local ones.
Indices piece(const Distribution& layout, int rank) {
  Indices all;
  if (!layout.is_member(rank)) return all;
  for_each(layout.owned_shape(rank), [&](const Indices& local) {
    all.push_back(flat(layout.shape(), layout.to_global(rank, local)));
  });
  return all;
}

/// Every element has the owners that its pieces say, and local indices lead back.
void check(const Distribution& layout, int processes) {
  Index owned = 0;
  for (int rank = 0; rank < processes; ++rank) {
    owned += layout.owned_size(rank);
    ASSERT_EQ(layout.owned_size(rank), static_cast<Index>(piece(layout, rank).size()));
  }
  ASSERT_EQ(owned, layout.size() * layout.replicas());
  for_each(layout.shape(), [&](const Indices& global) {
    Ranks owners;
    for (int rank = 0; rank < processes; ++rank) {
      const auto local = layout.to_local(rank, global);
      if (!local) continue;
      owners.push_back(rank);
      ASSERT_EQ(layout.to_global(rank, *local), global);
    }
    Ranks said = layout.owners(global);
    ASSERT_EQ(layout.owner(global), said.front());
    ASSERT_TRUE(layout.is_primary(said.front()));
    ASSERT_EQ(layout.copies(said.back()), said);
    std::sort(said.begin(), said.end());
    ASSERT_EQ(said, owners);
  });
}

DistributionPtr make(const Indices& shape, int processes, const DistributionOptions& options = {}) {
  return make_distribution(shape, processes, options);
}

TEST(Distribution, OfMixedKindsOnARowMajorGrid) {
  const auto layout = make({5, 7}, 6, {.kinds = "bc", .grid = {2, 3}, .block_sizes = {{1, 2}}});
  EXPECT_EQ(piece(*layout, 0), (Indices{0, 1, 6, 7, 8, 13, 14, 15, 20}));
  EXPECT_EQ(piece(*layout, 1), (Indices{2, 3, 9, 10, 16, 17}));
  EXPECT_EQ(piece(*layout, 2), (Indices{4, 5, 11, 12, 18, 19}));
  EXPECT_EQ(piece(*layout, 3), (Indices{21, 22, 27, 28, 29, 34}));
  EXPECT_EQ(piece(*layout, 4), (Indices{23, 24, 30, 31}));
  EXPECT_EQ(piece(*layout, 5), (Indices{25, 26, 32, 33}));
  EXPECT_EQ(layout->owner(Indices{3, 6}), 3);
  EXPECT_EQ(layout->owned_shape(3), (Indices{2, 3}));
  check(*layout, 6);
}

TEST(Distribution, OfThreeAxesAsPublished) {
  const auto layout = make({5, 9, 3}, 8, {.kinds = "cbc", .grid = {2, 2, 2}});
  EXPECT_EQ(layout->parts(5), (Ranks{1, 0, 1}));
  EXPECT_EQ(piece(*layout, 5), (Indices{28, 31, 34, 37, 40, 82, 85, 88, 91, 94}));
  check(*layout, 8);
}

TEST(Distribution, OfLabelsOnTwoAxes) {
  const auto layout =
      make_distribution({DimMap::unstructured({{3, 0}, {4, 2, 1}}, true),
                         DimMap::unstructured({{2, 3, 7, 1}, {6, 5, 8, 0, 4}}, true)});
  EXPECT_EQ(piece(*layout, 0), (Indices{29, 30, 34, 28, 2, 3, 7, 1}));
  EXPECT_EQ(piece(*layout, 1), (Indices{33, 32, 35, 27, 31, 6, 5, 8, 0, 4}));
  EXPECT_EQ(piece(*layout, 2), (Indices{38, 39, 43, 37, 20, 21, 25, 19, 11, 12, 16, 10}));
  EXPECT_EQ(piece(*layout, 3),
            (Indices{42, 41, 44, 36, 40, 24, 23, 26, 18, 22, 15, 14, 17, 9, 13}));
  check(*layout, 4);
}

TEST(Distribution, OfLabelsThatSeveralProcessesHave) {
  const auto layout =
      make_distribution({DimMap::unstructured({{-1, 4, 100}, {4, 7, -1}}, false)}, {5, 2});
  EXPECT_EQ(layout->size(), 6);
  EXPECT_EQ(layout->owners(Indices{-1}), (Ranks{5, 2}));
  EXPECT_EQ(layout->owner(Indices{4}), 5);
  EXPECT_EQ(layout->to_local(2, Indices{-1}), (Indices{2}));
  EXPECT_EQ(layout->to_local(5, Indices{7}), std::nullopt);
  EXPECT_EQ(error_of([&] { (void)layout->owner(Indices{5}); }),
            "key: axis 0: label 5 is no part's");
}

TEST(Distribution, WithEmptyPieces) {
  const auto layout = make({2}, 4, {.kinds = "b", .grid = {4}});
  for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(layout->owned_size(rank), rank < 2 ? 1 : 0);
  check(*layout, 4);
  const auto nothing = make({0, 3}, 4, {.kinds = "bb", .grid = {2, 2}});
  EXPECT_EQ(nothing->size(), 0);
  EXPECT_EQ(nothing->owned_shape(0), (Indices{0, 2}));
  check(*nothing, 4);
}

TEST(Distribution, WithoutAxesIsOneElement) {
  const auto layout = make({}, 2);
  EXPECT_EQ(layout->size(), 1);
  EXPECT_EQ(layout->dimensions(), 0);
  EXPECT_EQ(layout->owned_size(0), 1);
  EXPECT_EQ(layout->owned_size(1), 0);
  EXPECT_FALSE(layout->is_replicated());
  EXPECT_EQ(layout->owners(Indices{}), Ranks{0});
  EXPECT_EQ(layout->to_global(0, Indices{}), Indices{});
  EXPECT_EQ(make_on_one(Indices{}, 3)->owner(Indices{}), 3);
  const auto copies = make_replicated(Indices{}, 3);
  EXPECT_TRUE(copies->is_replicated());
  EXPECT_EQ(copies->owners(Indices{}), (Ranks{0, 1, 2}));
  check(*copies, 3);
}

TEST(Distribution, IsReplicatedAlongFreeGridDimensions) {
  const Distribution layout(ProcessGrid({2, 3, 2}),
                            {{DimMap::block(7, 3), 1}, {DimMap::collapsed(2)}});
  EXPECT_EQ(layout.replicas(), 4);
  EXPECT_EQ(layout.copies(8), (Ranks{2, 3, 8, 9}));
  EXPECT_EQ(layout.primary(9), 2);
  EXPECT_TRUE(layout.is_primary(2));
  EXPECT_FALSE(layout.is_primary(3));
  EXPECT_FALSE(layout.is_primary(99));
  EXPECT_EQ(layout.owners(Indices{3, 1}), (Ranks{2, 3, 8, 9}));
  check(layout, 12);
  const auto whole = make_replicated(Indices{4, 4}, 3);
  EXPECT_EQ(whole->owned_shape(2), (Indices{4, 4}));
  check(*whole, 3);
}

TEST(Distribution, OverSomeProcessesOnly) {
  const auto layout = make({10, 3}, 6, {.kinds = "e", .grid = {3}, .members = {5, 0, 2}});
  EXPECT_EQ(layout->owned_shape(5), (Indices{4, 3}));
  EXPECT_EQ(layout->owned_shape(1), (Indices{0, 0}));
  EXPECT_EQ(layout->part(2, 0), 2);
  EXPECT_EQ(layout->part(2, 1), 0);
  check(*layout, 6);
  EXPECT_EQ(error_of([&] { (void)layout->part(1, 0); }),
            "argument: rank 1 is no member of the grid of 3 processes");
  EXPECT_EQ(error_of([&] { (void)layout->copies(1); }),
            "argument: rank 1 is no member of the grid of 3 processes");
}

TEST(Distribution, OfManyKindsAndEightAxes) {
  check(*make({2, 3, 1, 2, 3, 2, 1, 2}, 8, {.kinds = "bncnecnb", .grid = {2, 1, 1, 1, 2, 1, 1, 2}}),
        8);
  for (const char first : {'n', 'b', 'e', 'c'}) {
    for (const char second : {'n', 'b', 'e', 'c'}) {
      for (const Index extent : {0, 1, 2, 5, 7}) {
        check(*make({extent, 5}, 6, {.kinds = {first, second}}), 6);
      }
    }
  }
}

TEST(Distribution, CountsGhostsIntoTheLocalBufferAlone) {
  Axis axis{DimMap::bounded({0, 8, 14, 21, 30}), 0};
  axis.ghosts = {{0, 1}, {1, 2}, {2, 3}, {3, 0}};
  axis.boundary = {4, 0};
  const Distribution layout(ProcessGrid({4}), {axis});
  const Indices lengths{9, 9, 12, 12};
  const Indices owned{8, 6, 7, 9};
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(layout.local_size(rank), lengths[static_cast<std::size_t>(rank)]);
    EXPECT_EQ(layout.local_shape(rank), (Indices{lengths[static_cast<std::size_t>(rank)]}));
    EXPECT_EQ(layout.owned_size(rank), owned[static_cast<std::size_t>(rank)]);
    EXPECT_EQ(layout.owned_offset(rank), (Indices{rank}));
  }
  EXPECT_EQ(layout.ghosts(2, 0), (Ghosts{2, 3}));
  EXPECT_EQ(layout.local_size(4), 0);
  EXPECT_TRUE(layout.has_ghosts());
  check(layout, 4);
  EXPECT_FALSE(make({4}, 2)->has_ghosts());
}

TEST(Distribution, HasTheSamePiecesWhateverItsMapsAreCalled) {
  const auto block = make({8, 3}, 4, {.kinds = "b", .grid = {4}});
  const auto same = [&](const DistributionPtr& other) {
    EXPECT_EQ(block->same_pieces(*other), other->same_pieces(*block));
    bool pieces = true;
    for (int rank = 0; rank < 4; ++rank)
      pieces = pieces && piece(*block, rank) == piece(*other, rank);
    EXPECT_EQ(block->same_pieces(*other), pieces);
    return pieces;
  };
  EXPECT_TRUE(same(make({8, 3}, 4, {.kinds = "e", .grid = {4}})));
  EXPECT_TRUE(same(make({8, 3}, 4, {.kinds = "c", .grid = {4}, .block_sizes = {{0, 2}}})));
  EXPECT_TRUE(same(make({8, 3}, 4, {.kinds = "bb", .grid = {4, 1}})));
  EXPECT_TRUE(same(make({8, 3}, 4, {.kinds = "b", .grid = {4}, .ghosts = {{0, {1, 1}}}})));
  EXPECT_TRUE(same(make_distribution(
      {DimMap::unstructured({{0, 1}, {2, 3}, {4, 5}, {6, 7}}, true), DimMap::collapsed(3)})));
  EXPECT_FALSE(same(make({8, 3}, 4, {.kinds = "c", .grid = {4}})));
  EXPECT_FALSE(same(make({8, 3}, 4, {.kinds = "b", .grid = {4}, .members = {0, 1, 3, 2}})));
  EXPECT_FALSE(same(make({8, 3}, 4, {.kinds = "b", .grid = {2}})));
  EXPECT_FALSE(same(make_distribution(
      {DimMap::unstructured({{0, 1}, {3, 2}, {4, 5}, {6, 7}}, true), DimMap::collapsed(3)})));
  EXPECT_FALSE(block->same_pieces(*make({8, 4}, 4, {.kinds = "b", .grid = {4}})));
  EXPECT_FALSE(block->same_pieces(*make_replicated(Indices{8, 3}, 4)));
  // Two processes that own nothing may as well be outside of the grid.
  EXPECT_TRUE(make({2}, 4, {.kinds = "b", .grid = {4}})->same_pieces(*make({2}, 4)));
}

TEST(Distribution, EqualsAndHashesByContent) {
  const DistributionOptions plain{.kinds = "bc", .grid = {2, 2}, .block_sizes = {{1, 2}}};
  const auto layout = make({5, 9}, 4, plain);
  EXPECT_TRUE(*layout == *make({5, 9}, 4, plain));
  EXPECT_EQ(layout->hash(), make({5, 9}, 4, plain)->hash());
  const auto differs = [&](const Indices& shape, DistributionOptions options) {
    const auto other = make(shape, 4, options);
    return !(*layout == *other) && layout->hash() != other->hash();
  };
  EXPECT_TRUE(differs({6, 9}, plain));
  EXPECT_TRUE(differs({5, 9}, {.kinds = "cc", .grid = {2, 2}, .block_sizes = {{1, 2}}}));
  EXPECT_TRUE(differs({5, 9}, {.kinds = "bc", .grid = {2, 2}, .block_sizes = {{1, 3}}}));
  EXPECT_TRUE(differs(
      {5, 9}, {.kinds = "bc", .grid = {2, 2}, .block_sizes = {{1, 2}}, .first_parts = {{1, 1}}}));
  EXPECT_TRUE(differs(
      {5, 9}, {.kinds = "bc", .grid = {2, 2}, .block_sizes = {{1, 2}}, .ghosts = {{0, {1, 0}}}}));
  EXPECT_TRUE(differs(
      {5, 9}, {.kinds = "bc", .grid = {2, 2}, .block_sizes = {{1, 2}}, .members = {3, 2, 1, 0}}));
  EXPECT_TRUE(differs({5, 9}, {.kinds = "bc", .grid = {1, 4}, .block_sizes = {{1, 2}}}));
  Axis periodic{DimMap::collapsed(4)};
  periodic.periodic = true;
  EXPECT_FALSE(Distribution({}, {periodic}) == Distribution({}, {{DimMap::collapsed(4)}}));
}

TEST(Distribution, OfContradictionsIsAnErrorWithItsAxis) {
  const auto error = [](ProcessGrid grid, std::vector<Axis> axes) {
    return error_of([&] { Distribution(std::move(grid), std::move(axes)); });
  };
  const DimMap two = DimMap::block(5, 2);
  EXPECT_EQ(error(ProcessGrid({2}), {{two, 1}}),
            "layout: axis 0 follows grid dimension 1, but the grid has 1");
  EXPECT_EQ(error(ProcessGrid({2}), {{two, -2}}),
            "layout: axis 0 follows grid dimension -2, but the grid has 1");
  EXPECT_EQ(error(ProcessGrid({2}), {{two, 0}, {two, 0}}),
            "layout: axes 0 and 1 both follow grid dimension 0: one may");
  EXPECT_EQ(error(ProcessGrid({3}), {{DimMap::collapsed(1)}, {two, 0}}),
            "layout: axis 1: its map has 2 parts for 3 processes: both numbers are equal");
  EXPECT_EQ(error({}, {{two}}),
            "layout: axis 0: its map has 2 parts for 1 processes: both numbers are equal");
  EXPECT_EQ(error(ProcessGrid({2}), {{two, 0, {{1, 1}}}}),
            "layout: axis 0: ghosts for 1 parts, but the map has 2");
  EXPECT_EQ(error(ProcessGrid({2}), {{two, 0, {{1, 1}, {0, -1}}}}),
            "layout: axis 0, part 1: 0 and -1 ghosts: none is negative");
  EXPECT_EQ(error(ProcessGrid({2}), {{DimMap::block_cyclic(5, 2), 0, {{0, 0}, {1, 0}}}}),
            "layout: axis 0, part 1: 1 and 0 ghosts: only collapsed and block axes have ghosts");
  EXPECT_EQ(error(ProcessGrid({2}), {{two, 0, {}, {4, 0}}}),
            "layout: axis 0: a lower boundary of 4, but part 0 owns 3");
  EXPECT_EQ(error(ProcessGrid({2}), {{two, 0, {}, {0, 3}}}),
            "layout: axis 0: an upper boundary of 3, but part 1 owns 2");
  EXPECT_EQ(
      error({}, {{DimMap::collapsed(5), kNotDistributed, {}, {3, 3}}}),
      "layout: axis 0: an upper boundary of 3, but part 0 owns 5, 3 of them as the lower one");
  EXPECT_EQ(error(ProcessGrid({2}), {{two, 0, {}, {-1, 0}}}),
            "layout: axis 0: a boundary of -1 and 0: none is negative");
  EXPECT_EQ(error(ProcessGrid({2}), {{DimMap::block_cyclic(5, 2), 0, {}, {1, 0}}}),
            "layout: axis 0: a boundary of 1 and 0: only collapsed and block axes have one");
  EXPECT_EQ(error({}, {{DimMap::collapsed(Index{1} << 40)}, {DimMap::collapsed(Index{1} << 40)}}),
            "shape: the array has more than 2^62 elements");
}

TEST(Distribution, AskedForWhatIsNotThereIsAnErrorWithItsAxis) {
  const auto layout = make({5, 7}, 2, {.kinds = "nb"});
  EXPECT_EQ(error_of([&] {
              (void)layout->owners(Indices{1, 7});
            }),
            "key: axis 1: index 7 is outside of the extent 7");
  EXPECT_EQ(error_of([&] {
              (void)layout->owner(Indices{-1, 0});
            }),
            "key: axis 0: index -1 is outside of the extent 5");
  EXPECT_EQ(error_of([&] { (void)layout->to_local(0, Indices{1}); }),
            "argument: 1 indices for an array with 2 axes");
  EXPECT_EQ(error_of([&] {
              (void)layout->to_global(1, Indices{1, 3});
            }),
            "key: axis 1: local index 3: rank 1 owns 3 indices");
  EXPECT_EQ(error_of([&] { (void)layout->axis(2); }), "argument: axis 2 of an array with 2 axes");
  EXPECT_EQ(error_of([&] { (void)layout->part(0, -1); }),
            "argument: axis -1 of an array with 2 axes");
}

TEST(MakeDistribution, ReadsKindsAsDistArrayDoes) {
  const auto kinds = [](const DistributionPtr& layout) {
    std::vector<DimMap::Kind> all;
    for (const Axis& axis : layout->axes()) all.push_back(axis.map.kind());
    return all;
  };
  using enum DimMap::Kind;
  EXPECT_EQ(kinds(make({8, 8}, 4)), (std::vector{kBlock, kCollapsed}));
  EXPECT_EQ(kinds(make({8, 8}, 4, {.kinds = "nc"})), (std::vector{kCollapsed, kBlockCyclic}));
  EXPECT_EQ(kinds(make({8, 8, 8}, 4, {.kinds_by_axis = {{2, 'b'}}})),
            (std::vector{kCollapsed, kCollapsed, kBlock}));
  EXPECT_EQ(make({8, 8, 8}, 4, {.kinds_by_axis = {{0, 'b'}, {2, 'e'}}})->grid(),
            ProcessGrid({2, 2}));
  EXPECT_EQ(make({8, 8}, 6, {.kinds = "bb", .grid = {3}})->grid(), ProcessGrid({3, 1}));
  EXPECT_EQ(
      make({8}, 3, {.kinds = "c", .block_sizes = {{0, 3}}, .first_parts = {{0, 2}}})->axis(0).map,
      DimMap::block_cyclic(8, 3, 3, 2));
  EXPECT_EQ(make({8}, 2, {.ghosts = {{0, {1, 2}}}})->axis(0).ghosts,
            (std::vector<Ghosts>{{1, 2}, {1, 2}}));
}

TEST(MakeDistribution, RefusesWhatItCannotRead) {
  const auto error = [](const Indices& shape, const DistributionOptions& options) {
    return error_of([&] { (void)make(shape, 4, options); });
  };
  EXPECT_EQ(error({8}, {.kinds = "q"}), "argument: axis 0: the kind 'q' is none of n, b, e, c");
  EXPECT_EQ(error({8}, {.kinds = "bb"}), "argument: 2 kinds for an array with 1 axes");
  EXPECT_EQ(error({8}, {.kinds_by_axis = {{1, 'b'}}}),
            "argument: a kind for axis 1 of an array with 1 axes");
  EXPECT_EQ(error({8}, {.grid = {2, 2}}), "argument: grid extents for 2 axes, but the array has 1");
  EXPECT_EQ(
      error({8, 8}, {.grid = {2, 2}}),
      "layout: axis 1: 2 processes, though it is not distributed: give it a kind or 1 process");
  EXPECT_EQ(error({8}, {.grid = {5}}), "layout: a grid of 5 places for 4 processes");
  EXPECT_EQ(error({8}, {.block_sizes = {{0, 2}}}),
            "argument: axis 0: a block size for an axis that is not block-cyclic");
  EXPECT_EQ(error({8}, {.kinds = "c", .first_parts = {{2, 2}}}),
            "argument: a first part for axis 2 of an array with 1 axes");
  EXPECT_EQ(error({8}, {.ghosts = {{-1, {1, 1}}}}),
            "argument: ghosts for axis -1 of an array with 1 axes");
  EXPECT_EQ(error({8, -2}, {}), "shape: axis 1: the extent -2 is negative");
}

}  // namespace
