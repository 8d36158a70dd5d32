// SPDX-License-Identifier: Apache-2.0
#include "darray/interop/dap/dim_data.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "darray/base/error.hpp"
#include "tests/unit/darray/errors.hpp"
#include "tests/unit/darray/interop/pieces.hpp"

namespace impishim::darray::dap {
namespace {

using impishim_test::kind_of;
using test::block;
using test::cyclic;
using test::labels;
using test::owned_indices;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// DAP-70
TEST(DimData, EmptyDictionaryIsTheWholeAxisOnOneProcess) {
  const DimData whole = resolved({}, 7);
  EXPECT_EQ(whole, block(7, 1, 0, 0, 7));
  EXPECT_EQ(owned_count(whole), 7);
  EXPECT_EQ(buffer_extent(resolved({}, 0)), 0);
  EXPECT_EQ(resolved(cyclic(5, 2, 1), 99), cyclic(5, 2, 1));
}

// DAP-36, DAP-39 and T2: two processes, padding (1,1) each.
TEST(DimData, BoundaryPaddingIsOwnedAndCommunicationPaddingIsNot) {
  const DimData left = block(18, 2, 0, 0, 10, Padding{1, 1});
  const DimData right = block(18, 2, 1, 8, 18, Padding{1, 1});
  EXPECT_EQ(owned_count(left), 9);
  EXPECT_EQ(owned_count(right), 9);
  EXPECT_EQ(communication_padding(left), (Padding{0, 1}));
  EXPECT_EQ(boundary_padding(left), (Padding{1, 0}));
  EXPECT_EQ(communication_padding(right), (Padding{1, 0}));
  EXPECT_EQ(boundary_padding(right), (Padding{0, 1}));
  EXPECT_EQ(to_local(left, 8), 8);
  EXPECT_EQ(to_local(left, 9), std::nullopt);
  EXPECT_EQ(to_local(right, 9), 1);
  EXPECT_EQ(to_local(right, 8), std::nullopt);
  EXPECT_EQ(to_global(right, 0), 8);
  EXPECT_EQ(buffer_extent(left) + buffer_extent(right), 20);
}

// T3: the padding table of the specification.
TEST(DimData, AsymmetricPaddingOfTheSpecification) {
  const std::vector<DimData> parts = test::padded();
  std::vector<Index> owned;
  std::vector<Index> extents;
  for (const DimData& part : parts) {
    owned.push_back(owned_count(part));
    extents.push_back(buffer_extent(part));
  }
  EXPECT_THAT(owned, ElementsAre(8, 6, 7, 9));
  EXPECT_THAT(extents, ElementsAre(9, 9, 12, 12));
  EXPECT_EQ(owned_part(parts[2]), (Triplet{2, 7, 1}));
}

// T4, DAP-41: nothing is subtracted on the only process.
TEST(DimData, PeriodicOnOneProcessOwnsItsPadding) {
  const DimData dimension = block(10, 1, 0, 0, 10, Padding{2, 2}, true);
  EXPECT_EQ(owned_count(dimension), 10);
  EXPECT_EQ(boundary_padding(dimension), (Padding{2, 2}));
  EXPECT_EQ(communication_padding(dimension), (Padding{0, 0}));
}

// T5, DAP-51, DAP-52
TEST(DimData, RaggedBlockCyclic) {
  EXPECT_THAT(owned_indices(cyclic(9, 3, 0, 2)), ElementsAre(0, 1, 6, 7));
  EXPECT_THAT(owned_indices(cyclic(9, 3, 1, 2)), ElementsAre(2, 3, 8));
  EXPECT_THAT(owned_indices(cyclic(9, 3, 2, 2)), ElementsAre(4, 5));
  EXPECT_EQ(owned_count(cyclic(23, 3, 0, 4)), 8);
  EXPECT_EQ(owned_count(cyclic(23, 3, 1, 4)), 8);
  EXPECT_EQ(owned_count(cyclic(23, 3, 2, 4)), 7);
  EXPECT_THAT(owned_indices(cyclic(9, 4, 0, 5)), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(owned_indices(cyclic(9, 4, 1, 5)), ElementsAre(5, 6, 7, 8));
  EXPECT_THAT(owned_indices(cyclic(9, 4, 2, 5)), IsEmpty());
  EXPECT_THAT(owned_indices(cyclic(9, 4, 3, 5)), IsEmpty());
  EXPECT_EQ(to_local(cyclic(9, 3, 1, 2), 8), 2);
  EXPECT_THAT(owned_indices(cyclic(10, 3, 1)),
              ElementsAre(1, 4, 7));  // slice(1, 10, 3); block_size is absent
  EXPECT_EQ(owned_count(cyclic(3, 4, 3)), 0);
  EXPECT_EQ(owned_count(cyclic(5, 1, 0, Index{1} << 62)), 5);
}

// DAP-53: blocks of ceil(size / P) are the even block distribution.
TEST(DimData, CyclicWithCeilingBlocksIsBlock) {
  for (Index size = 0; size <= 13; ++size)
    for (int parts = 1; parts <= 4; ++parts) {
      const Index length = std::max<Index>((size + parts - 1) / parts, 1);
      for (int part = 0; part < parts; ++part) {
        const Index start = std::min(part * length, size);
        EXPECT_EQ(owned_indices(cyclic(size, parts, part, length)),
                  owned_indices(block(size, parts, part, start, std::min(start + length, size))));
      }
    }
}

// DAP-61, DAP-63, DAP-64
TEST(DimData, LabelsAreNeitherOrderedNorPositive) {
  const DimData dimension = labels(6, 2, 0, {-1, 4, 100});
  EXPECT_EQ(owned_count(dimension), 3);
  EXPECT_EQ(to_global(dimension, 0), -1);
  EXPECT_EQ(to_local(dimension, -1), 0);
  EXPECT_EQ(to_local(dimension, 100), 2);
  EXPECT_EQ(to_local(dimension, 5), std::nullopt);  // -1 is a label, not the last index
}

// DAP-75: both directions are each other's inverse on what is owned, and out of range is an error.
TEST(DimData, MapsRoundTripAndRefuseWhatIsOutside) {
  for (const DimData& dimension :
       {block(18, 2, 1, 8, 18, Padding{1, 1}), cyclic(23, 3, 1, 4), labels(6, 2, 1, {4, 7, -1})}) {
    const Triplet owned = owned_part(dimension);
    for (Index k = 0; k < owned.count; ++k)
      EXPECT_EQ(to_local(dimension, to_global(dimension, owned.at(k))), owned.at(k));
    EXPECT_EQ(kind_of([&] { to_global(dimension, buffer_extent(dimension)); }), ErrorKind::kKey);
    EXPECT_EQ(kind_of([&] { to_global(dimension, -1); }), ErrorKind::kKey);
  }
  EXPECT_EQ(kind_of([] { to_local(cyclic(23, 3, 1, 4), 23); }), ErrorKind::kKey);
  EXPECT_EQ(kind_of([] { to_local(cyclic(23, 3, 1, 4), -1); }), ErrorKind::kKey);
  EXPECT_EQ(kind_of([] { to_local(block(4, 1, 0, 0, 4), 4); }), ErrorKind::kKey);
}

std::vector<Index> positions(const std::vector<Triplet>& triplets) {
  std::vector<Index> all;
  for (const Triplet& triplet : triplets)
    for (Index k = 0; k < triplet.count; ++k) all.push_back(triplet.at(k));
  std::sort(all.begin(), all.end());
  return all;
}

// DAP-76: every slice against the elements asked one by one.
TEST(DimData, SlicesMapToLocalSlices) {
  const std::vector<DimData> dimensions{block(18, 2, 0, 0, 10, Padding{1, 1}),
                                        block(18, 2, 1, 8, 18, Padding{1, 1}),
                                        cyclic(18, 2, 1),
                                        cyclic(18, 3, 1, 2),
                                        cyclic(18, 4, 3, 5),
                                        block(18, 3, 1, 6, 6)};
  for (const DimData& dimension : dimensions)
    for (Index start = 0; start <= 18; ++start)
      for (Index step : {Index{1}, Index{2}, Index{3}, Index{7}, Index{1} << 61})
        for (Index count = 0; count == 0 || (start < 18 && (count - 1) <= (17 - start) / step);
             ++count) {
          std::vector<Index> expected;
          const Triplet global{start, count, step};
          for (Index k = 0; k < count; ++k)
            if (const auto local = to_local(dimension, global.at(k))) expected.push_back(*local);
          EXPECT_EQ(positions(to_local(dimension, global)), expected)
              << start << ' ' << count << ' ' << step;
        }
  EXPECT_EQ(to_local(dimensions[1], Triplet{0, 18, 1}), (std::vector<Triplet>{{1, 9, 1}}));
  EXPECT_EQ(to_local(dimensions[2], Triplet{0, 18, 1}), (std::vector<Triplet>{{0, 9, 1}}));
  EXPECT_EQ(kind_of([&] { to_local(dimensions[0], Triplet{17, 18, -1}); }), ErrorKind::kKey);
  EXPECT_EQ(kind_of([&] { to_local(dimensions[0], Triplet{0, 19, 1}); }), ErrorKind::kKey);
  EXPECT_EQ(kind_of([&] {
              to_local(labels(1, 1, 0, {0}), Triplet{0, 1, 1});
            }),
            ErrorKind::kUnsupported);
}

// DAP-07, DAP-73
TEST(DimData, CountOfAllElements) {
  EXPECT_EQ(global_count({}), 1);
  EXPECT_EQ(global_count(
                std::vector{block(5, 1, 0, 0, 5), cyclic(9, 3, 0, 2), labels(3, 1, 0, {1, 2, 3})}),
            135);
  const DimData huge = block(Index{1} << 40, 1, 0, 0, Index{1} << 40);
  EXPECT_EQ(kind_of([&] { global_count(std::vector{huge, huge}); }), ErrorKind::kShape);
  EXPECT_EQ(global_count(std::vector{huge, huge, block(0, 1, 0, 0, 0)}), 0);
}

TEST(DimData, DictionariesHoldExactlyTheKeysThatAreSet) {
  EXPECT_TRUE(to_dictionary({}).empty());
  const Dictionary dictionary = to_dictionary(block(18, 2, 0, 0, 10, Padding{1, 1}, true));
  std::vector<std::string> keys;
  for (const auto& [key, value] : dictionary) keys.push_back(key);
  EXPECT_THAT(keys, ElementsAre("dist_type", "padding", "periodic", "proc_grid_rank",
                                "proc_grid_size", "size", "start", "stop"));
  EXPECT_EQ(to_dictionary(cyclic(9, 3, 0)).count("block_size"), 0U);
}

}  // namespace
}  // namespace impishim::darray::dap
