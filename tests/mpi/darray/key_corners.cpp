// SPDX-License-Identifier: Apache-2.0
#include "tests/mpi/darray/key_corners.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include "darray/array/keys/set_data.hpp"
#include "tests/mpi/darray/array_checks.hpp"
#include "tests/mpi/darray/key_reference.hpp"

namespace key_corners {

using namespace impishim::darray;
using checks::refused;
using reference::Array;
using reference::distributed;
using reference::equals;

// Labels of an unstructured axis count as the indices that they are, and others are refused before
// they are places of anything.
void labels() {
  const auto strategy_of = [](const IndexList& mine) {
    std::vector<IndexList> lists(static_cast<std::size_t>(checks::size));
    for (std::size_t part = 0; part < lists.size(); ++part) {
      for (const Index label : mine) lists[part].push_back(label + 2 * static_cast<Index>(part));
    }
    return Strategy(Distribution::make(ProcessGrid({checks::size}),
                                       {{DimMap::unstructured(std::move(lists), true), 0}}));
  };
  const KeyOptions own{.local_keys = true};
  const Index count = 2 * checks::size;
  auto array = DistArray<Index>::arange(MPI_COMM_WORLD, Shape{count});
  const auto label = [](std::span<const Index> at) { return std::max<Index>(at[0], 0); };
  const auto swapped =
      DistArray<Index>::from_function(MPI_COMM_WORLD, Shape{count}, label, strategy_of({1, 0}));
  const auto all = get_data(array, swapped, own);
  for (Index k = 0; k < count; ++k) EXPECT(all.data()[k] == k);
  for (const IndexList& wrong : {IndexList{-5, 400}, IndexList{0, 400}, IndexList{-1, 0}}) {
    const auto indices =
        DistArray<Index>::full(MPI_COMM_WORLD, Shape{count}, 0, strategy_of(wrong));
    EXPECT(refused(ErrorKind::kKey, [&] { static_cast<void>(get_data(array, indices, own)); }));
    EXPECT(refused(ErrorKind::kKey, [&] { set_data(array, 7, indices, own); }));
    EXPECT(array.get_full()[0] == 0);
  }
}

void masks_of_some_axes() {
  std::mt19937 random(23);
  const Array array({3, 2});
  const auto layouts = reference::layouts(MPI_COMM_WORLD, array.shape, random);
  for (const LayoutPtr& line : reference::layouts(MPI_COMM_WORLD, Shape{3}, random)) {
    DistArray<bool> rows(line);
    fill_by_index(*line, rows.data(), [](std::span<const Index> at) { return at[0] != 1; });
    for (const LayoutPtr& layout : layouts) {
      auto whole = distributed(layout, array);
      EXPECT(equals(get_data(whole, rows), {2, 2}, {0, 1, 4, 5}));
      EXPECT(equals(get_data(whole, {rows, 1}), {2}, {1, 5}));
      set_data(whole, -1, rows);
      EXPECT(equals(whole, array.shape, {-1, -1, 2, 3, -1, -1}));
    }
    EXPECT(refused(ErrorKind::kShape, [&] {
      static_cast<void>(get_data(DistArray<double>::zeros(MPI_COMM_WORLD, Shape{4, 2}), rows));
    }));
  }
}

// Values may be a view of the array, or another array in its memory: what was there before the
// assignment counts.
void memory_in_common() {
  const Slice backwards{.step = -1};
  auto array = DistArray<double>::arange(MPI_COMM_WORLD, Shape{6}, kNot);
  set_data(array, array.local(), backwards);
  EXPECT(equals(array, {6}, {5, 4, 3, 2, 1, 0}));
  set_data(array, array.local(), Slice{1, {}, {}}, Slice{0, 5, {}});
  EXPECT(equals(array, {6}, {5, 5, 4, 3, 2, 1}));
  for (const Strategy& strategy : {Strategy(kNot), Strategy(kEqual)}) {
    auto first = DistArray<double>::arange(MPI_COMM_WORLD, Shape{6}, strategy);
    DistArray<double> second(first.layout(), Storage<double>(first.data()));
    set_data(second, first, backwards);
    EXPECT(equals(first, {6}, {5, 4, 3, 2, 1, 0}));
    set_data(second, first, Slice{1, {}, {}}, Slice{0, 5, {}});
    EXPECT(equals(first, {6}, {5, 5, 4, 3, 2, 1}));
    set_data(second, first, {IndexList{5, 4, 3}}, {IndexList{0, 3, 4}});
    EXPECT(equals(first, {6}, {5, 5, 4, 2, 3, 5}));
  }
}

// An element that one process has alone, and masks that stand for it.
void no_axes() {
  const Strategy last = make_on_one(Shape{}, checks::size - 1);
  const auto array = DistArray<double>::full(MPI_COMM_WORLD, Shape{}, 7, last);
  EXPECT(get_item(array, Key()) == 7 && equals(array, {}, {7}));
  EXPECT(array.get_local().size() == array.local_size());
  EXPECT(array.local().size() == (checks::rank == checks::size - 1 ? 1 : 0));
  auto target = DistArray<double>::zeros(MPI_COMM_WORLD, Shape{});
  set_data(target, array);
  EXPECT(get_item(target, Key()) == 7);
  EXPECT(get_item(array.copy<float>(kNot), Key()) == 7 &&
         get_item(array.copy<float>(), Key()) == 7);
  for (const Strategy& strategy : {Strategy(kNot), last}) {
    const auto mask = DistArray<bool>::full(MPI_COMM_WORLD, Shape{}, true, strategy);
    EXPECT(refused(ErrorKind::kKey, [&] { static_cast<void>(get_data(target, mask)); }));
  }
}

}  // namespace key_corners
