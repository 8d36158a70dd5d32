// SPDX-License-Identifier: Apache-2.0
#include "darray/index/key.hpp"

#include <gtest/gtest.h>

#include <array>

#include "tests/unit/darray/errors.hpp"

namespace impishim::darray {
namespace {

ResolvedKey resolve(std::vector<AxisKey> key, std::vector<Index> shape,
                    EmptyLists empty = EmptyLists::kRefused) {
  return {key, shape, empty};
}

std::vector<Index> shape_of(std::vector<AxisKey> key, std::vector<Index> shape) {
  return resolve(std::move(key), shape).shape();
}

ErrorKind refused(std::vector<AxisKey> key, std::vector<Index> shape) {
  return impishim_test::kind_of(
      [&] { static_cast<void>(resolve(std::move(key), std::move(shape))); });
}

using Shape = std::vector<Index>;
constexpr Slice kAll{};
const std::vector<Index> kCube{4, 5, 6};

TEST(Key, OfIndicesTakesAxesAway) {
  EXPECT_EQ(shape_of({Index{1}}, kCube), (Shape{5, 6}));
  EXPECT_EQ(shape_of({kAll, Index{-1}}, kCube), (Shape{4, 6}));
  EXPECT_EQ(shape_of({Index{0}, Index{0}, Index{0}}, kCube), Shape{});
  const ResolvedKey key = resolve({Index{-4}, kAll, Index{-1}}, kCube);
  EXPECT_TRUE(key.is_section());
  EXPECT_EQ(key.index_of(0, 3), 0);
  EXPECT_EQ(key.index_of(1, 3), 3);
  EXPECT_EQ(key.index_of(2, 3), 5);
  EXPECT_EQ(key.sources(), std::vector<int>{1});
}

TEST(Key, WithoutPartsIsTheWholeArray) {
  EXPECT_TRUE(resolve({}, kCube).is_whole(kCube));
  EXPECT_TRUE(resolve({kEllipsis}, kCube).is_whole(kCube));
  EXPECT_TRUE(resolve({Slice{0, 4, 1}, kAll}, kCube).is_whole(kCube));
  EXPECT_TRUE(resolve({}, {}).is_whole({}));
  EXPECT_FALSE(resolve({Slice{{}, {}, -1}}, kCube).is_whole(kCube));
  EXPECT_FALSE(resolve({Slice{1, {}, {}}}, kCube).is_whole(kCube));
  EXPECT_FALSE(resolve({IndexList{0, 1, 2, 3}}, kCube).is_whole(kCube));
}

TEST(Key, WithAnEllipsisNamesTheLastAxes) {
  EXPECT_EQ(shape_of({kEllipsis, Index{0}}, kCube), (Shape{4, 5}));
  EXPECT_EQ(shape_of({Index{0}, kEllipsis, Index{0}}, kCube), Shape{5});
  EXPECT_EQ(shape_of({kEllipsis, Slice{0, 2, {}}, kAll, kAll}, kCube), (Shape{2, 5, 6}));
}

TEST(Key, OfListsHasOneDimensionForAllOfThem) {
  EXPECT_EQ(shape_of({IndexList{1, 1, -1}}, kCube), (Shape{3, 5, 6}));
  EXPECT_EQ(shape_of({IndexList{0, 1}, IndexList{2, 3}}, kCube), (Shape{2, 6}));
  EXPECT_EQ(shape_of({kAll, IndexList{0, 1}, IndexList{2, 3}}, kCube), (Shape{4, 2}));
  // Separated ones come first; an ellipsis separates, even if it stands for no axis.
  EXPECT_EQ(shape_of({IndexList{0, 1}, kAll, IndexList{2, 3}}, kCube), (Shape{2, 5}));
  EXPECT_EQ(shape_of({kAll, IndexList{0, 1, 2}, kEllipsis, IndexList{2, 3, 4}}, kCube),
            (Shape{3, 4}));
  // A single index counts as a list beside one.
  EXPECT_EQ(shape_of({Index{0}, kAll, IndexList{2, 3}}, kCube), (Shape{2, 5}));
  EXPECT_EQ(shape_of({kAll, Index{0}, IndexList{2, 3}}, kCube), (Shape{4, 2}));
  const ResolvedKey key = resolve({kAll, IndexList{-1}, IndexList{2, -6, 4}}, kCube);
  EXPECT_FALSE(key.is_section());
  EXPECT_EQ(key.list_dimension(), 1);
  EXPECT_EQ(key.shape(), (Shape{4, 3}));
  EXPECT_EQ(key.index_of(1, 2), 4);
  EXPECT_EQ(key.index_of(2, 1), 0);
  EXPECT_EQ(key.sources(), (std::vector<int>{0, 1}));
}

TEST(Key, OfAMaskIsTheListsOfItsTruePlaces) {
  const ResolvedKey key =
      resolve({MaskList{{2, 3}, {false, true, false, true, false, true}}}, {2, 3});
  EXPECT_EQ(key.shape(), Shape{3});
  EXPECT_EQ(key.index_of(0, 0), 0);
  EXPECT_EQ(key.index_of(1, 0), 1);
  EXPECT_EQ(key.index_of(0, 2), 1);
  EXPECT_EQ(key.index_of(1, 2), 2);
  EXPECT_EQ(shape_of({MaskList{{2, 3}, std::vector<bool>(6, false)}}, {2, 3}), Shape{0});
  EXPECT_EQ(shape_of({kAll, MaskList{{5}, {true, false, true, true, false}}}, kCube),
            (Shape{4, 3, 6}));
}

TEST(Key, ThatDoesNotFitIsRefused) {
  EXPECT_EQ(refused({kAll, kAll, kAll, Index{0}}, kCube), ErrorKind::kKey);
  EXPECT_EQ(refused({Index{4}}, kCube), ErrorKind::kKey);
  EXPECT_EQ(refused({Index{-5}}, kCube), ErrorKind::kKey);
  EXPECT_EQ(refused({kAll, IndexList{0, 5}}, kCube), ErrorKind::kKey);
  EXPECT_EQ(refused({kEllipsis, kEllipsis}, kCube), ErrorKind::kKey);
  EXPECT_EQ(refused({IndexList{}}, kCube), ErrorKind::kKey);
  EXPECT_EQ(refused({IndexList{0, 1}, IndexList{0, 1, 2}}, kCube), ErrorKind::kKey);
  EXPECT_EQ(refused({Slice{{}, {}, 0}}, kCube), ErrorKind::kKey);
  EXPECT_EQ(refused({MaskList{{3, 2}, std::vector<bool>(6)}}, {2, 3}), ErrorKind::kShape);
  EXPECT_EQ(refused({MaskList{{2, 3}, std::vector<bool>(5)}}, {2, 3}), ErrorKind::kShape);
  EXPECT_EQ(refused({MaskList{{}, {true}}}, {2, 3}), ErrorKind::kKey);
  EXPECT_EQ(refused({Index{0}}, {}), ErrorKind::kKey);
  EXPECT_EQ(refused({Index{0}}, {0}), ErrorKind::kKey);
}

TEST(Key, MayHaveEmptyListsWhereThatIsAllowed) {
  EXPECT_EQ(resolve({IndexList{}}, kCube, EmptyLists::kAllowed).shape(), (Shape{0, 5, 6}));
  EXPECT_EQ(resolve({IndexList{}, IndexList{3}}, kCube, EmptyLists::kAllowed).shape(),
            (Shape{0, 6}));
}

TEST(Key, HashesByWhatItSelects) {
  EXPECT_EQ(resolve({Slice{0, 4, 1}}, kCube).hash(), resolve({}, kCube).hash());
  EXPECT_EQ(resolve({IndexList{-1}}, kCube).hash(), resolve({IndexList{3}}, kCube).hash());
  EXPECT_NE(resolve({IndexList{3}}, kCube).hash(), resolve({Index{3}}, kCube).hash());
  EXPECT_NE(resolve({IndexList{0, 1}}, kCube).hash(), resolve({IndexList{1, 0}}, kCube).hash());
}

}  // namespace
}  // namespace impishim::darray
