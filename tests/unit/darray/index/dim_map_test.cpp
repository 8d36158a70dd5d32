// SPDX-License-Identifier: Apache-2.0
// Maps of one axis: the sizes and pieces that are known, and all kinds against indices dealt out
// one by one.
#include "darray/index/dim_map.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/darray/errors.hpp"
#include "tests/unit/darray/index/reference.hpp"

namespace {

using impishim::darray::kMaximumExtent;
using impishim::darray::same_piece;
using impishim_test::Case;
using impishim_test::cases;
using impishim_test::DimMap;
using impishim_test::error_of;
using impishim_test::Index;
using impishim_test::Pieces;
using impishim_test::pieces_of;

std::vector<Index> counts(const DimMap& map) {
  std::vector<Index> owned;
  for (int part = 0; part < map.parts(); ++part) owned.push_back(map.owned(part));
  return owned;
}

TEST(BlockCyclicMap, WithARaggedEnd) {
  const DimMap map = DimMap::block_cyclic(9, 3, 2);
  EXPECT_EQ(pieces_of(map), (Pieces{{0, 1, 6, 7}, {2, 3, 8}, {4, 5}}));
  EXPECT_EQ(counts(map), (std::vector<Index>{4, 3, 2}));
  EXPECT_EQ(map.owner(8), 1);
  EXPECT_EQ(map.local(1, 8), 2);
  EXPECT_EQ(map.local(0, 8), std::nullopt);
  EXPECT_EQ(counts(DimMap::block_cyclic(23, 3, 4)), (std::vector<Index>{8, 8, 7}));
  EXPECT_EQ(pieces_of(DimMap::block_cyclic(9, 4, 5)),
            (Pieces{{0, 1, 2, 3, 4}, {5, 6, 7, 8}, {}, {}}));
  EXPECT_EQ(pieces_of(DimMap::block_cyclic(3, 4)), (Pieces{{0}, {1}, {2}, {}}));
}

TEST(BlockCyclicMap, WithAnotherFirstPart) {
  EXPECT_EQ(pieces_of(DimMap::block_cyclic(9, 3, 2, 2)), (Pieces{{2, 3, 8}, {4, 5}, {0, 1, 6, 7}}));
}

TEST(BlockCyclicMap, WithTheBlockMapsBlockSizeIsTheBlockMap) {
  for (Index extent = 0; extent <= 13; ++extent) {
    for (int parts = 1; parts <= 4; ++parts) {
      const DimMap block = DimMap::block(extent, parts);
      const DimMap cyclic =
          DimMap::block_cyclic(extent, parts, std::max<Index>(1, (extent + parts - 1) / parts));
      EXPECT_EQ(pieces_of(cyclic), pieces_of(block));
      for (int part = 0; part < parts; ++part) EXPECT_TRUE(same_piece(block, part, cyclic, part));
    }
  }
}

TEST(BlockMap, MayLeaveLatePartsEmpty) {
  EXPECT_EQ(pieces_of(DimMap::block(2, 4)), (Pieces{{0}, {1}, {}, {}}));
  EXPECT_EQ(DimMap::block(2, 4).block_of(3), (std::pair<Index, Index>(2, 2)));
  EXPECT_EQ(counts(DimMap::block(5, 4)), (std::vector<Index>{2, 2, 1, 0}));
  EXPECT_EQ(counts(DimMap::block(10, 4)), (std::vector<Index>{3, 3, 3, 1}));
  EXPECT_EQ(counts(DimMap::block(4, 3)), (std::vector<Index>{2, 2, 0}));
  EXPECT_EQ(counts(DimMap::block(0, 3)), (std::vector<Index>{0, 0, 0}));
}

TEST(BalancedMap, GivesTheFirstPartsOneMore) {
  EXPECT_EQ(counts(DimMap::balanced(5, 4)), (std::vector<Index>{2, 1, 1, 1}));
  EXPECT_EQ(counts(DimMap::balanced(10, 4)), (std::vector<Index>{3, 3, 2, 2}));
  EXPECT_EQ(counts(DimMap::balanced(4, 3)), (std::vector<Index>{2, 1, 1}));
}

TEST(UnstructuredMap, HasLabels) {
  const DimMap map = DimMap::unstructured({{-1, 4, 100}, {4, 7, -1}}, false);
  EXPECT_EQ(counts(map), (std::vector<Index>{3, 3}));
  EXPECT_EQ(map.extent(), 6);
  EXPECT_EQ(map.owner(-1), 0);
  EXPECT_EQ(map.owners(-1), (std::vector<int>{0, 1}));
  EXPECT_EQ(map.owners(7), (std::vector<int>{1}));
  EXPECT_EQ(map.local(0, -1), 0);
  EXPECT_EQ(map.local(1, -1), 2);
  EXPECT_EQ(map.local(1, 100), std::nullopt);
  EXPECT_FALSE(map.contains(5));
  EXPECT_EQ(map.labels().label_range(), (std::pair<Index, Index>(-1, 100)));
  EXPECT_EQ(error_of([&] { (void)map.owner(5); }), "key: label 5 is no part's");
  EXPECT_EQ(error_of([&] { (void)map.owners(5); }), "key: label 5 is no part's");
  EXPECT_EQ(error_of([&] { (void)map.local(0, 5); }), "key: label 5 is no part's");
  EXPECT_EQ(
      error_of([] {
        (void)DimMap::unstructured({{-1, 4, 100}, {4, 7, -1}}, true);
      }),
      "layout: label -1 is both part 0's and part 1's, though the map is said to be one-to-one");
  EXPECT_EQ(
      error_of([] {
        (void)DimMap::unstructured({{}, {3, 3, 1}}, false);
      }),
      "layout: label 3 stands at the local indices 0 and 1 of part 1: a part has a label once");
}

void check_case(const Case& each) {
  SCOPED_TRACE(each.name);
  const DimMap& map = each.map;
  ASSERT_EQ(pieces_of(map), each.pieces);
  Index sum = 0;
  for (int part = 0; part < map.parts(); ++part) {
    const auto& piece = each.pieces[static_cast<std::size_t>(part)];
    ASSERT_EQ(map.owned(part), static_cast<Index>(piece.size()));
    sum += map.owned(part);
    for (Index global = 0; global < map.extent(); ++global) {
      const auto found = std::find(piece.begin(), piece.end(), global);
      ASSERT_EQ(map.local(part, global),
                found == piece.end() ? std::nullopt : std::optional<Index>(found - piece.begin()));
      if (found == piece.end()) continue;
      ASSERT_EQ(map.owner(global), part);
      ASSERT_EQ(map.owners(global), std::vector<int>{part});
    }
    ASSERT_EQ(error_of([&] { (void)map.global(part, map.owned(part)); }).substr(0, 17),
              "key: local index ");
    ASSERT_EQ(error_of([&] { (void)map.global(part, -1); }).substr(0, 17), "key: local index ");
  }
  ASSERT_EQ(sum, map.extent());
  for (const Index outside : {Index{-1}, map.extent()}) {
    ASSERT_FALSE(map.contains(outside));
    ASSERT_EQ(error_of([&] { (void)map.owner(outside); }).substr(0, 5), "key: ");
    ASSERT_EQ(error_of([&] { (void)map.local(0, outside); }).substr(0, 5), "key: ");
  }
  for (const int part : {-1, map.parts()}) {
    ASSERT_EQ(error_of([&] { (void)map.owned(part); }).substr(0, 10), "argument: ");
    ASSERT_EQ(error_of([&] { (void)map.local(part, 0); }).substr(0, 10), "argument: ");
    ASSERT_EQ(error_of([&] { (void)map.global(part, 0); }).substr(0, 10), "argument: ");
  }
}

TEST(DimMap, OfEveryKindDealsIndicesOut) {
  for (int parts = 1; parts <= 4; ++parts) {
    for (Index extent = 0; extent <= 3 * parts + 1; ++extent) {
      for (const Case& each : cases(extent, parts, 5)) {
        ASSERT_NO_FATAL_FAILURE(check_case(each));
      }
    }
  }
}

TEST(DimMap, EqualsAndResemblesAnotherExactlyIfThePiecesDo) {
  for (int parts = 1; parts <= 3; ++parts) {
    for (const Index extent : {0, 1, 4, 5, 6, 9}) {
      const auto all = cases(extent, parts, 4);
      for (const Case& a : all) {
        for (const Case& b : all) {
          SCOPED_TRACE(a.name + " | " + b.name);
          if (a.map == b.map) {
            ASSERT_EQ(a.pieces, b.pieces);
            ASSERT_EQ(a.map.hash(), b.map.hash());
          } else if (a.map.kind() == b.map.kind() && a.map.kind() != DimMap::Kind::kBlockCyclic) {
            ASSERT_NE(a.pieces, b.pieces);
          }
          for (int i = 0; i < parts; ++i) {
            for (int j = 0; j < parts; ++j) {
              const bool same =
                  a.pieces[static_cast<std::size_t>(i)] == b.pieces[static_cast<std::size_t>(j)];
              ASSERT_EQ(same_piece(a.map, i, b.map, j), same);
            }
          }
        }
      }
    }
  }
}

TEST(DimMap, PiecesOfBlocksAtOtherDistancesDiffer) {
  EXPECT_FALSE(same_piece(DimMap::block_cyclic(6, 2), 0, DimMap::block_cyclic(9, 3), 0));
  EXPECT_TRUE(same_piece(DimMap::block_cyclic(9, 3), 0, DimMap::block_cyclic(8, 3), 0));
  EXPECT_FALSE(same_piece(DimMap::block_cyclic(24, 3, 4), 0, DimMap::block_cyclic(24, 3, 2), 0));
}

TEST(DimMap, HashesDiffer) {
  const DimMap maps[] = {DimMap::collapsed(6),
                         DimMap::block(6, 2),
                         DimMap::bounded({0, 1, 6}),
                         DimMap::block_cyclic(6, 2),
                         DimMap::block_cyclic(6, 2, 2),
                         DimMap::block_cyclic(6, 2, 1, 1),
                         DimMap::unstructured({{0, 1, 2}, {3, 4, 5}}, false),
                         DimMap::unstructured({{0, 1, 2}, {3, 4, 5}}, true),
                         DimMap::unstructured({{0, 1}, {2, 3, 4, 5}}, false),
                         DimMap::block(7, 2)};
  for (const DimMap& a : maps) {
    for (const DimMap& b : maps) {
      EXPECT_EQ(a == b, &a == &b);
      EXPECT_EQ(a.hash() == b.hash(), &a == &b);
    }
  }
}

TEST(DimMap, OfVeryLongAxes) {
  const Index extent = (Index{1} << 40) + 3;
  for (const DimMap& map : {DimMap::block(extent, 1000), DimMap::balanced(extent, 1000),
                            DimMap::block_cyclic(extent, 1000, 77, 13)}) {
    Index sum = 0;
    for (int part = 0; part < 1000; ++part) sum += map.owned(part);
    EXPECT_EQ(sum, extent);
    for (const Index global : {Index{0}, Index{1} << 31, (Index{1} << 39) + 12345, extent - 1}) {
      const int part = map.owner(global);
      EXPECT_EQ(map.global(part, *map.local(part, global)), global);
    }
  }
  const DimMap longest = DimMap::block(kMaximumExtent, 3);
  EXPECT_EQ(longest.owner(kMaximumExtent - 1), 2);
}

TEST(DimMap, OfBadArgumentsIsAnErrorThatNamesThem) {
  EXPECT_EQ(error_of([] { (void)DimMap::collapsed(-1); }),
            "layout: an axis of extent -1: an extent is at least 0");
  EXPECT_EQ(error_of([] { (void)DimMap::block(kMaximumExtent + 1, 2); }),
            "layout: an axis of extent 4611686018427387905: an extent is at most 2^62");
  EXPECT_EQ(error_of([] { (void)DimMap::balanced(3, 0); }),
            "layout: a map of 0 parts: there is at least one");
  EXPECT_EQ(error_of([] { (void)DimMap::bounded({0}); }),
            "layout: a block map with 1 bounds: there are two at least");
  EXPECT_EQ(error_of([] {
              (void)DimMap::bounded({1, 2});
            }),
            "layout: the first bound of a block map is 1, not 0");
  EXPECT_EQ(error_of([] {
              (void)DimMap::bounded({0, 4, 3});
            }),
            "layout: part 1: its bounds 4 and 3 of a block map are not ascending");
  EXPECT_EQ(error_of([] { (void)DimMap::block_cyclic(5, 2, 0); }),
            "layout: block size 0: it is at least 1");
  EXPECT_EQ(error_of([] { (void)DimMap::block_cyclic(5, 3, kMaximumExtent); }),
            "layout: block size 4611686018427387904 on 3 parts: the product is at most 2^62");
  EXPECT_EQ(error_of([] { (void)DimMap::block_cyclic(5, 2, 1, 2); }),
            "layout: the first block is to be part 2's, but there are 2 parts");
  EXPECT_EQ(error_of([] { (void)DimMap::unstructured({}, false); }),
            "layout: a map of 0 parts: there is at least one");
  EXPECT_EQ(error_of([] { (void)DimMap::block(5, 2).owner(5); }),
            "key: index 5 is outside of the extent 5");
  EXPECT_EQ(error_of([] { (void)DimMap::block(5, 2).owned(2); }),
            "argument: part 2 of a map with 2 parts");
  EXPECT_EQ(error_of([] { (void)DimMap::block(5, 2).global(1, 2); }),
            "key: local index 2: part 1 owns 2 indices");
  EXPECT_EQ(error_of([] { (void)DimMap::block_cyclic(5, 2).block_of(1); }),
            "unsupported: the begin and end of part 1: only a collapsed or block map has them");
  EXPECT_EQ(error_of([] { (void)DimMap::block(5, 2).block_size(); }),
            "unsupported: the block size of a map that is not block-cyclic");
  EXPECT_EQ(error_of([] { (void)DimMap::block(5, 2).first_part(); }),
            "unsupported: the first part of a map that is not block-cyclic");
  EXPECT_EQ(error_of([] { (void)DimMap::block(5, 2).labels(); }),
            "unsupported: the labels of a map that is not unstructured");
}

}  // namespace
