// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "darray/index/make_distribution.hpp"
#include "darray/plan/remap/remap.hpp"
#include "tests/unit/darray/errors.hpp"
#include "tests/unit/darray/plan/random_remap.hpp"
#include "tests/unit/darray/plan/simulation.hpp"
#include "tests/unit/darray/random_layout.hpp"

namespace impishim_test {
namespace {

using namespace impishim::darray;  // NOLINT: the library under test
using testing::ElementsAre;

testing::Matcher<std::string> says(const std::string& kind, const std::string& text) {
  return testing::AllOf(testing::StartsWith(kind + ": "), testing::HasSubstr(text));
}

DistributionPtr one_axis(const DimMap& map, std::vector<int> members) {
  return Distribution::make(ProcessGrid({map.parts()}, std::move(members)), {{map, 0}});
}

Simulation remap_of(int ranks, const Systems& systems, const RemapSide& to, const RemapSide& from,
                    const RemapOptions& options = {}) {
  return {ranks, [&](int rank) { return plan_remap(rank, systems, to, from, options); }};
}

std::vector<DimMap> maps_of_every_kind(Index extent, int parts) {
  std::vector<DimMap> maps{DimMap::block(extent, parts), DimMap::balanced(extent, parts)};
  std::vector<Index> bounds{0};
  for (int part = 1; part < parts; ++part) bounds.push_back(std::min<Index>(extent, part * part));
  bounds.push_back(extent);
  maps.push_back(DimMap::bounded(bounds));
  for (Index block = 1; block <= 5; ++block)
    maps.push_back(DimMap::block_cyclic(extent, parts, block, parts / 2));
  std::vector<std::vector<Index>> labels(static_cast<std::size_t>(parts));
  for (Index k = 0; k < extent; ++k)
    labels[static_cast<std::size_t>((k * k + 1) % parts)].push_back(extent - 1 - k);
  maps.push_back(DimMap::unstructured(labels, true));
  return maps;
}

TEST(Remap, OfAllPairsOfMapsIsTheIdentityThereAndBack) {
  for (int parts = 1; parts <= 4; ++parts) {
    const int ranks = parts + 1;
    for (Index extent = 0; extent <= 3 * parts + 1; ++extent) {
      const auto maps = maps_of_every_kind(extent, parts);
      for (std::size_t a = 0; a < maps.size(); ++a) {
        for (std::size_t b = 0; b < maps.size(); ++b) {
          SCOPED_TRACE(fmt::format("{} parts, {} elements, maps {} and {}", parts, extent, a, b));
          // The second grid is of other processes in another order.
          std::vector<int> others = counting(parts, 1);
          std::ranges::reverse(others);
          const auto from = one_axis(maps[a], counting(parts));
          const auto to = one_axis(maps[b], others);
          const Simulation plans = remap_of(ranks, one_system(ranks), {*to}, {*from});
          ASSERT_EQ(plans.defect(), "");
          ASSERT_EQ(plans.moved() + plans.copied(), extent);
          ASSERT_LE(plans.messages(), ranks * (ranks - 1));
          const auto identity = [](const std::vector<Index>& global) { return global[0]; };
          Buffers sources = filled(*from, ranks, identity);
          const Buffers expected = filled(*to, ranks, identity);
          Buffers destinations = filled(*to, ranks, [](const auto&) { return -2; });
          plans.run(sources, destinations);
          ASSERT_EQ(destinations, expected);
          Buffers restored = filled(*from, ranks, [](const auto&) { return -2; });
          plans.run_backward(restored, destinations);
          ASSERT_EQ(restored, sources);
        }
      }
    }
  }
}

TEST(Remap, OfRandomLayoutsAndSectionsEqualsASerialCopy) {
  for (unsigned seed = 0; seed < 6000; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Chance chance(seed);
    const int ranks = chance.small(1, 8);
    const RandomRemap random(chance, ranks);
    const Simulation plans =
        remap_of(ranks, random.systems, random.destination(), random.source(), random.options);
    ASSERT_EQ(plans.defect(), "");
    const Buffers sources = filled(*random.from, ranks, random.source_value());
    Buffers destinations = filled(*random.to, ranks, [](const auto&) { return -2; });
    const Buffers expected = filled(*random.to, ranks, random.destination_value(-2));
    plans.run(sources, destinations);
    ASSERT_EQ(destinations, expected);
    if (random.repeats()) continue;

    // The way back, planned for itself, reaches all copies.
    const Simulation back = remap_of(ranks, random.systems, random.source(), random.destination(),
                                     {.permutation = random.inverse()});
    ASSERT_EQ(back.defect(), "");
    Buffers restored = filled(*random.from, ranks, [](const auto&) { return -2; });
    back.run(destinations, restored);
    const Buffers wanted = filled(*random.from, ranks, random.restored_value(-2));
    ASSERT_EQ(restored, wanted);
  }
}

TEST(Remap, OfAReplicatedArrayCrossesBetweenSystemsOnce) {
  for (const auto& sizes : {std::vector<int>{2, 2}, {3, 3}, {1, 4}, {2, 3, 4}}) {
    const int ranks = std::accumulate(sizes.begin(), sizes.end(), 0);
    const Systems systems = systems_of(sizes);
    const std::vector<Index> shape{24};
    const auto everywhere = make_replicated(shape, ranks);
    const auto blocks = make_distribution(shape, ranks);
    // Every system lacks what the others have, and gets it once.
    const Simulation gathered = remap_of(ranks, systems, {*everywhere}, {*blocks});
    Index lacking = 0;
    for (std::size_t system = 0, first = 0; system < sizes.size(); ++system) {
      Index own = 0;
      for (std::size_t rank = first; rank < first + static_cast<std::size_t>(sizes[system]);
           ++rank) {
        own += blocks->owned_size(static_cast<int>(rank));
      }
      first += static_cast<std::size_t>(sizes[system]);
      lacking += 24 - own;
    }
    EXPECT_EQ(gathered.crossing(systems), lacking);
    // Whoever has a copy takes it from there.
    const Simulation dealt_out = remap_of(ranks, systems, {*blocks}, {*everywhere});
    EXPECT_EQ(dealt_out.messages(), 0);
    // The nearest copy: one process of each system has all.
    std::vector<int> firsts{0};
    for (std::size_t system = 0; system + 1 < sizes.size(); ++system)
      firsts.push_back(firsts.back() + sizes[system]);
    const Distribution copies(ProcessGrid({static_cast<int>(firsts.size())}, firsts),
                              {{DimMap::collapsed(24)}});
    EXPECT_EQ(remap_of(ranks, systems, {*blocks}, {copies}).crossing(systems), 0);
  }
}

TEST(Remap, HasTheMessagesOfT10) {
  const auto from = one_axis(DimMap::block(10, 2), {0, 1});
  const auto to = one_axis(DimMap::block_cyclic(10, 3, 2), {0, 1, 2});
  const Simulation plans = remap_of(3, one_system(3), {*to}, {*from});
  EXPECT_EQ(plans.defect(), "");
  EXPECT_EQ(plans.messages(), 4);
  EXPECT_EQ(plans.moved(), 6);
  EXPECT_EQ(plans.copied(), 4);
  const auto sent = [&](int rank, std::size_t number) {
    const auto& message = plans.plan(rank).sends.at(number);
    return std::pair(message.peer, message.elements.offsets());
  };
  EXPECT_EQ(sent(0, 0), std::pair(1, std::vector<Index>{2, 3}));
  EXPECT_EQ(sent(0, 1), std::pair(2, std::vector<Index>{4}));
  EXPECT_EQ(sent(1, 0), std::pair(0, std::vector<Index>{1, 2}));  // 6, 7
  EXPECT_EQ(sent(1, 1), std::pair(2, std::vector<Index>{0}));     // 5
  ASSERT_EQ(plans.plan(0).local.size(), 1U);
  EXPECT_THAT(plans.plan(0).local[0].first.offsets(), ElementsAre(0, 1));
  EXPECT_THAT(plans.plan(1).local[0].first.offsets(), ElementsAre(3, 4));  // 8, 9
}

TEST(Remap, OfEmptyPiecesSendsNothingT8) {
  const auto from = make_distribution(std::array<Index, 1>{2}, 4, {.kinds = "b", .grid = {4}});
  const auto to = make_on_one(std::array<Index, 1>{2}, 3);
  const Simulation plans = remap_of(4, one_system(4), {*to}, {*from});
  EXPECT_EQ(plans.messages(), 2);
  EXPECT_EQ(plans.plan(0).sends.at(0).peer, 3);
  EXPECT_EQ(plans.plan(1).sends.at(0).peer, 3);
  Buffers sources = filled(*from, 4, [](const auto& global) { return global[0] + 5; });
  Buffers destinations = filled(*to, 4, [](const auto&) { return 0; });
  plans.run(sources, destinations);
  EXPECT_THAT(destinations[3], ElementsAre(5, 6));
  Buffers restored = filled(*from, 4, [](const auto&) { return 0; });
  plans.run_backward(restored, destinations);
  EXPECT_EQ(restored, sources);
}

TEST(Remap, WithoutAxesCopiesTheOneElementT9) {
  const Distribution one(ProcessGrid({}, {2}), {});
  const Distribution all(ProcessGrid({3}), {});
  const Simulation plans = remap_of(3, one_system(3), {all}, {one});
  EXPECT_EQ(plans.defect(), "");
  Buffers destinations(3, std::vector<Index>{0});
  plans.run({{}, {}, {7}}, destinations);
  EXPECT_EQ(destinations, Buffers(3, std::vector<Index>{7}));
}

TEST(Remap, OfLabelsInDetailT7) {
  const auto odd = one_axis(DimMap::unstructured({{-1, 4, 100}, {4, 7, -1}}, false), {0, 1});
  const auto block = one_axis(DimMap::block(6, 2), {0, 1});
  EXPECT_THAT(error_of([&] { static_cast<void>(plan_remap(0, one_system(2), {*block}, {*odd})); }),
              says("key", "label -1"));

  const auto labels = one_axis(DimMap::unstructured({{0, 2, 4}, {1, 2, 3}}, false), {0, 1});
  const auto everywhere = make_replicated(std::array<Index, 1>{5}, 2);
  const Buffers sources{{10, 12, 14}, {21, 22, 23}};
  Buffers lowest(2, std::vector<Index>(5, 0));
  const Simulation first = remap_of(2, one_system(2), {*everywhere}, {*labels});
  EXPECT_EQ(first.defect(), "");
  first.run(sources, lowest);
  EXPECT_EQ(lowest, Buffers(2, {10, 21, 12, 23, 14}));

  Buffers sum(2, std::vector<Index>(5, 0));
  const Simulation all =
      remap_of(2, one_system(2), {*everywhere}, {*labels}, {.duplicates = Duplicates::kAll});
  EXPECT_EQ(all.defect(), "");
  all.run(sources, sum, 0, [](Index there, Index arriving) { return there + arriving; });
  EXPECT_EQ(sum, Buffers(2, {10, 21, 34, 23, 14}));
}

TEST(Remap, OfLabelsAlongTwoAxesT6) {
  const DimMap rows = DimMap::unstructured({{3, 0}, {4, 2, 1}}, true);
  const DimMap columns = DimMap::unstructured({{2, 3, 7, 1}, {6, 5, 8, 0, 4}}, true);
  const auto labels = Distribution::make(ProcessGrid({2, 2}), {{rows, 0}, {columns, 1}});
  const auto together = make_on_one(std::array<Index, 2>{5, 9}, 2);
  const Simulation plans = remap_of(4, one_system(4), {*together}, {*labels});
  EXPECT_EQ(plans.defect(), "");
  const Buffers pieces{{29, 30, 34, 28, 2, 3, 7, 1},
                       {33, 32, 35, 27, 31, 6, 5, 8, 0, 4},
                       {38, 39, 43, 37, 20, 21, 25, 19, 11, 12, 16, 10},
                       {42, 41, 44, 36, 40, 24, 23, 26, 18, 22, 15, 14, 17, 9, 13}};
  Buffers whole = filled(*together, 4, [](const auto&) { return -1; });
  plans.run(pieces, whole);
  std::vector<Index> in_order(45);
  std::iota(in_order.begin(), in_order.end(), 0);
  EXPECT_EQ(whole[2], in_order);
}

TEST(Remap, BetweenEqualLayoutsSendsNothing) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    Chance chance(seed);
    const auto layout =
        random_layout(chance, {chance.number(0, 9), chance.number(0, 9)}, 6, {}, chance.once_in(2));
    const Simulation plans = remap_of(6, one_system(6), {*layout}, {*layout});
    ASSERT_EQ(plans.messages(), 0) << "seed " << seed;
    // Also of labels that several have: everybody keeps its own.
    int next = 0;
    const Buffers sources = filled(*layout, 6, [&](const auto&) { return ++next; });
    Buffers destinations = filled(*layout, 6, [](const auto&) { return 0; });
    plans.run(sources, destinations);
    if (!layout->is_replicated()) {
      ASSERT_EQ(destinations, sources) << "seed " << seed;
    }
  }
}

TEST(Remap, IntoBuffersInAnotherOrder) {
  // A column-major destination with a gap: a transposition in memory alone.
  const std::array<Index, 2> shape{2, 3};
  const auto layout = make_on_one(shape, 0);
  const MessageList plan = plan_remap(0, one_system(1), {*layout, {}, {1, 4}}, {*layout});
  EXPECT_THAT(plan.local.at(0).first.offsets(), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(plan.local.at(0).second.offsets(), ElementsAre(0, 4, 8, 1, 5, 9));
}

TEST(Remap, NamesWhatDoesNotFit) {
  const Systems systems = one_system(4);
  const auto five = make_distribution(std::array<Index, 1>{5}, 2);
  const auto six = make_distribution(std::array<Index, 1>{6}, 2);
  const auto plane = make_distribution(std::array<Index, 2>{5, 6}, 2);
  const auto plan = [&](const RemapSide& to, const RemapSide& from,
                        const std::vector<int>& permutation = {}) {
    static_cast<void>(plan_remap(0, systems, to, from, {.permutation = permutation}));
  };
  EXPECT_THAT(error_of([&] { plan({*five}, {*six}); }),
              says("shape", "destination axis 0 takes 5 elements, source axis 0 gives 6"));
  EXPECT_THAT(error_of([&] { plan({*plane}, {*six}); }),
              says("shape", "2 axes for a source with 1"));
  EXPECT_THAT(error_of([&] {
                plan({*five, {{0, 3, 1}}}, {*six, {{4, 3, 1}}});
              }),
              says("key", "axis 0"));
  EXPECT_THAT(error_of([&] {
                plan({*five, {{0, 3, 1}, {0, 3, 1}}}, {*six});
              }),
              says("argument", "a section of 2 axes"));
  EXPECT_THAT(error_of([&] { plan({*five, {}, {1, 1}}, {*five}); }), says("argument", "2 strides"));
  EXPECT_THAT(error_of([&] {
                plan({*plane}, {*plane}, {0, 0});
              }),
              says("argument", "source axis 0 twice"));
  EXPECT_THAT(error_of([&] {
                plan({*plane}, {*plane}, {0, 2});
              }),
              says("argument", "source axis 2"));
  EXPECT_THAT(error_of([&] { plan({*plane}, {*plane}, {1}); }),
              says("argument", "a permutation of 1"));
  EXPECT_THAT(error_of([&] { plan({*five}, {*plane}, {0}); }),
              says("shape", "source axis 1 gives 6"));
  const auto labels = one_axis(DimMap::unstructured({{0, 1}, {2, 4}}, true), {0, 1});
  EXPECT_THAT(error_of([&] { plan({*five}, {*labels}); }), says("key", "gets label 3"));
  const auto more = one_axis(DimMap::unstructured({{0, 1}, {2, 9}}, true), {0, 1});
  EXPECT_THAT(error_of([&] { plan({*more}, {*six}); }),
              says("key", "label 9 of part 1 of the destination"));
}

TEST(Remap, OfSomeElementsLeavesTheOthersAlone) {
  const auto labels = one_axis(DimMap::unstructured({{0, 1}, {2, 9}}, true), {0, 1});
  const auto six = one_axis(DimMap::block(6, 2), {0, 1});
  const Simulation plans(2, [&](int rank) {
    return plan_remap(rank, one_system(2), {*labels}, {*six}, {}, Coverage::kSome);
  });
  ASSERT_EQ(plans.defect(), "");
  Buffers destinations = {{-1, -1}, {-1, -1}};
  plans.run({{10, 11, 12}, {13, 14, 15}}, destinations);
  EXPECT_EQ(destinations, (Buffers{{10, 11}, {12, -1}}));
}

TEST(Reshape, OfRandomLayoutsKeepsTheFlatOrder) {
  const std::vector<std::vector<Index>> shapes{{24},         {4, 6},  {2, 3, 4}, {24, 1},
                                               {1, 6, 1, 4}, {12, 2}, {3, 8}};
  for (unsigned seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Chance chance(seed);
    const int ranks = chance.small(1, 7);
    const LayoutChoice choice{.unstructured = false};
    const auto any_shape = [&] {
      return shapes[static_cast<std::size_t>(chance.small(0, static_cast<int>(shapes.size()) - 1))];
    };
    const auto from = random_layout(chance, any_shape(), ranks, choice);
    const auto to = random_layout(chance, any_shape(), ranks, choice);
    const int first = chance.small(1, ranks);
    const Systems systems = first < ranks ? systems_of({first, ranks - first}) : one_system(ranks);
    const Simulation plans(ranks,
                           [&](int rank) { return plan_reshape(rank, systems, {*to}, {*from}); });
    ASSERT_EQ(plans.defect(), "");
    const Buffers sources =
        filled(*from, ranks, [&](const auto& global) { return flat(global, from->shape()); });
    Buffers destinations = filled(*to, ranks, [](const auto&) { return -2; });
    plans.run(sources, destinations);
    ASSERT_EQ(destinations,
              filled(*to, ranks, [&](const auto& global) { return flat(global, to->shape()); }));
  }
}

TEST(Reshape, NamesWhatDoesNotFit) {
  const Systems systems = one_system(2);
  const auto five = make_distribution(std::array<Index, 1>{5}, 2);
  const auto six = make_distribution(std::array<Index, 2>{2, 3}, 2);
  const auto labels = one_axis(DimMap::unstructured({{0, 1, 2}, {3, 4}}, true), {0, 1});
  EXPECT_THAT(error_of([&] { static_cast<void>(plan_reshape(0, systems, {*five}, {*six})); }),
              says("shape", "6 elements to 5"));
  EXPECT_THAT(error_of([&] { static_cast<void>(plan_reshape(0, systems, {*five}, {*labels})); }),
              says("unsupported", "labels"));
  EXPECT_THAT(error_of([&] {
                static_cast<void>(plan_reshape(0, systems, {*five, {{0, 5, 1}}}, {*five}));
              }),
              says("unsupported", "section"));
}

}  // namespace
}  // namespace impishim_test
