// SPDX-License-Identifier: Apache-2.0
// Parts of distributed arrays, got and set by keys, against serial arrays.
#include "darray/array/keys/set_data.hpp"
#include "darray/array/math/where.hpp"
#include "tests/mpi/darray/array_checks.hpp"
#include "tests/mpi/darray/key_corners.hpp"
#include "tests/mpi/darray/key_reference.hpp"

namespace {

using namespace impishim::darray;
using checks::refused;
using reference::Array;
using reference::distributed;
using reference::equals;

constexpr Slice kAll{};

template <class T>
bool piece_is(const DistArray<T>& array, std::vector<Shape> shapes,
              const std::vector<std::vector<T>>& pieces) {
  const auto rank = static_cast<std::size_t>(array.communicator().rank());
  const LocalArray<T> local = array.get_local();
  return local.shape() == shapes[rank] && std::ranges::equal(local, pieces[rank]) &&
         array.strategy().kind() == kFreeform;
}

void t11() {
  checks::on(4, [](MPI_Comm comm) {
    const auto array = DistArray<Index>::arange(comm, Shape{4, 4});
    const auto part = get_data(array, {Slice{0, 3, 2}, Slice{1, 3}});
    EXPECT(piece_is(part, {{1, 2}, {0, 2}, {1, 2}, {0, 2}}, {{1, 2}, {}, {9, 10}, {}}));
  });
  checks::on(2, [](MPI_Comm comm) {
    const auto array = DistArray<double>::from_function(
        comm, Shape{16}, [](std::span<const Index> at) { return 2 * at[0]; });
    const auto half = get_data(array, Slice{.step = 2});
    EXPECT(piece_is<double>(half, {{4}, {4}}, {{0, 4, 8, 12}, {16, 20, 24, 28}}));
    const int rank = array.communicator().rank();
    const auto own = get_data(array, Slice{.step = rank == 0 ? 2 : 3}, {.local_keys = true});
    EXPECT(
        piece_is<double>(own, {{8}, {6}}, {{0, 4, 8, 12, 16, 20, 24, 28}, {0, 6, 12, 18, 24, 30}}));
    const IndexList list = rank == 0 ? IndexList{1, 3, 5, 7} : IndexList{2, 4, 6, 8};
    EXPECT(piece_is<double>(take(array, list, {.local_keys = true}), {{4}, {4}},
                            {{2, 6, 10, 14}, {4, 8, 12, 16}}));
    // As d2o's own example has it: the processes name two arrays, each of them distributed.
    const auto odd = DistArray<Index>::from_function(
        comm, Shape{4}, [](std::span<const Index> at) { return 2 * at[0] + 1; });
    const auto even = DistArray<Index>::from_function(
        comm, Shape{4}, [](std::span<const Index> at) { return 2 * at[0] + 2; });
    const auto named = get_data(array, rank == 0 ? odd : even, {.local_keys = true});
    EXPECT(piece_is<double>(named, {{4}, {4}}, {{2, 6, 10, 14}, {4, 8, 12, 16}}));
  });
  checks::on(3, [](MPI_Comm comm) {
    const auto array = DistArray<Index>::arange(comm, Shape{10});
    EXPECT(piece_is(get_data(array, Slice{.step = -2}), {{2}, {1}, {2}}, {{9, 7}, {5}, {3, 1}}));
  });
  const auto to_key = Key{Slice{2, 8, 3}, Slice{3, 5}};
  const auto from_key = Key{Slice{5, 1, -2}, Slice{4, 6}};
  Array expected({10, 10});
  std::ranges::fill(expected.values, 0);
  expected.values[23] = 59;
  expected.values[24] = 60;
  expected.values[53] = 37;
  expected.values[54] = 38;
  for (const char* strategy : {"not", "equal", "fftw"}) {
    auto array = DistArray<double>::zeros(MPI_COMM_WORLD, Shape{10, 10}, strategy);
    set_data(array, DistArray<Index>::arange(MPI_COMM_WORLD, Shape{9, 11}), to_key, from_key);
    EXPECT(equals(array, expected.shape, expected.values));
    array.fill(0);
    set_data(array, DistArray<double>::arange(MPI_COMM_WORLD, Shape{9, 11}, kFftw), to_key,
             from_key);
    EXPECT(equals(array, expected.shape, expected.values));
  }
}

bool is_section(const std::vector<reference::Part>& parts) {
  return std::ranges::none_of(
      parts, [](const reference::Part& part) { return part.kind == reference::Part::kList; });
}

// Gets by a key and sets by it, in all layouts.
void check_key(const Array& array, const std::vector<LayoutPtr>& layouts,
               const std::vector<reference::Part>& parts, const Key& key, unsigned number) {
  const reference::Selected selected = reference::select(array.shape, parts);
  const Array values = [&] {
    Array given(selected.shape);
    for (double& value : given.values) value += 1000;
    return given;
  }();
  Array changed = array;
  for (std::size_t k = 0; k < selected.places.size(); ++k)
    changed.values[static_cast<std::size_t>(selected.places[k])] = values.values[k];
  Array filled = array;
  for (const Index place : selected.places) filled.values[static_cast<std::size_t>(place)] = -1;
  // Keys of these tests are the same everywhere: without checks most of this needs no messages.
  const KeyOptions unchecked{.local_keys = false, .checks = Checks::kOff};
  std::mt19937 random(number);
  for (std::size_t which = 0; which < layouts.size(); ++which) {
    const auto whole = distributed(layouts[which], array);
    const auto part = get_data(whole, key, unchecked);
    EXPECT(equals(part, selected.shape, reference::taken(array, selected)));
    EXPECT(which != 0 || part.strategy().kind() == kNot);
    EXPECT(which == 0 || which > 3 || checks::size == 1 || part.shape().empty() ||
           !is_section(parts) || part.strategy().kind() == kFreeform ||
           part.strategy() == whole.strategy());
    auto target = whole;
    LocalArray<double> local(selected.shape);
    std::ranges::copy(values.values, local.begin());
    set_data(target, local, key, {}, unchecked);
    EXPECT(equals(target, array.shape, changed.values));
    target = whole;
    set_data(target, -1, key, unchecked);
    EXPECT(equals(target, array.shape, filled.values));
    if (selected.shape.empty() || which % 4 != number % 4) continue;
    const auto others = reference::layouts(MPI_COMM_WORLD, selected.shape, random);
    target = whole;
    set_data(target, distributed(others[(3 * which + number) % others.size()], values), key, {},
             unchecked);
    EXPECT(equals(target, array.shape, changed.values));
  }
}

// d2o's list: every sign, overshoot and gap (D2O-36).
void slices() {
  std::mt19937 random(1);
  const Array line({20});
  const auto line_layouts = reference::layouts(MPI_COMM_WORLD, line.shape, random);
  const std::vector<Slice> all{{},
                               {4, {}, {}},
                               {{}, 4, {}},
                               {-4, {}, {}},
                               {{}, -4, {}},
                               {4, 12, {}},
                               {-12, -4, {}},
                               {{}, {}, 3},
                               {{}, {}, -3},
                               {{}, {}, -4},
                               {4, 12, 3},
                               {12, 4, -3},
                               {-4, -12, -4},
                               {2, 2, {}},
                               {2, 2, -1},
                               {1000, {}, {}},
                               {{}, 1000, {}},
                               {-1000, {}, {}},
                               {{}, -1000, {}},
                               {1000, -1000, -4},
                               {-1000, 1000, 3},
                               {12, 4, {}},
                               {4, 12, -1},
                               {19, {}, -1}};
  EXPECT(all.size() == 24);
  for (unsigned k = 0; k < all.size(); ++k)
    check_key(line, line_layouts, {{reference::Part::kRange, reference::walk(all[k], 20)}}, all[k],
              k);
  const Array plane({8, 9});
  const auto plane_layouts = reference::layouts(MPI_COMM_WORLD, plane.shape, random);
  const std::vector<std::pair<Slice, Slice>> tuples{{{1, 7, 2}, {2, 5, {}}},
                                                    {{}, {{}, {}, -1}},
                                                    {{{}, {}, -2}, {-3, {}, {}}},
                                                    {{6, 1, -4}, {1000, 1, -3}}};
  for (unsigned k = 0; k < tuples.size(); ++k) {
    const auto& [first, second] = tuples[k];
    check_key(plane, plane_layouts,
              {{reference::Part::kRange, reference::walk(first, 8)},
               {reference::Part::kRange, reference::walk(second, 9)}},
              {first, second}, k);
  }
}

void random_keys() {
  std::mt19937 random(7);
  const std::vector<Shape> shapes{{13}, {5, 7}, {4, 3, 5}, {2, 3, 2, 4}, {3, 0, 4}, {0}};
  for (const Shape& shape : shapes) {
    const Array array(shape);
    const auto layouts = reference::layouts(MPI_COMM_WORLD, shape, random);
    for (unsigned k = 0; k < 8; ++k) {
      const auto made = reference::random_key(shape, random, k % 2 == 1);
      check_key(array, layouts, made.parts, made.key, k);
    }
  }
}

// Values that are fewer than the elements, of other types, or the array itself.
void values() {
  std::mt19937 random(3);
  const Array array({6, 4});
  for (const LayoutPtr& layout : reference::layouts(MPI_COMM_WORLD, array.shape, random)) {
    Array expected = array;
    auto target = distributed(layout, array);
    target.set_hermitian(true);
    set_data(target, std::vector<float>{1, 2, 3, 4}, Slice{1, 3});
    EXPECT(!target.hermitian());
    for (std::size_t k = 0; k < 8; ++k) expected.values[4 + k] = static_cast<double>(k % 4 + 1);
    EXPECT(equals(target, array.shape, expected.values));
    target.set_hermitian(true);
    set_data(target, DistArray<Index>::arange(MPI_COMM_WORLD, Shape{1, 4}), Slice{3, 5});
    EXPECT(!target.hermitian());
    for (std::size_t k = 0; k < 8; ++k) expected.values[12 + k] = static_cast<double>(k % 4);
    EXPECT(equals(target, array.shape, expected.values));
    set_data(target, DistArray<double>::arange(MPI_COMM_WORLD, Shape{6, 1}),
             {kAll, IndexList{0, 2}});
    set_data(target, DistArray<double>::arange(MPI_COMM_WORLD, Shape{6, 1}), {kAll, Slice{1, 2}});
    for (std::size_t row = 0; row < 6; ++row) {
      for (std::size_t column = 0; column < 3; ++column)
        expected.values[row * 4 + column] = static_cast<double>(row);
    }
    EXPECT(equals(target, array.shape, expected.values));
    // Flat ones: as many as the elements.
    set_data(target, DistArray<double>::arange(MPI_COMM_WORLD, Shape{24}));
    EXPECT(equals(target, array.shape, array.values));
    set_data(target, std::vector<int>{9, 8, 7, 6}, {Slice{4, {}, {}}, Slice{2, {}, {}}});
    expected = array;
    const double given[] = {9, 8, 7, 6};
    for (std::size_t k = 0; k < 4; ++k) expected.values[(4 + k / 2) * 4 + 2 + k % 2] = given[k];
    EXPECT(equals(target, array.shape, expected.values));
    // From itself: what was there before the assignment counts.
    target = distributed(layout, array);
    set_data(target, target, Slice{1, {}, {}}, Slice{{}, 5, {}});
    expected = array;
    for (std::size_t k = 4; k < 24; ++k) expected.values[k] = array.values[k - 4];
    EXPECT(equals(target, array.shape, expected.values));
    // Keys of both sides, with lists; the last value stays.
    target = distributed(layout, array);
    set_data(target, distributed(layout, array), {IndexList{0, 5, 0}, 1}, {Slice{5, 2, -1}, 3});
    expected = array;
    expected.values[1] = 15;
    expected.values[21] = 19;
    EXPECT(equals(target, array.shape, expected.values));
    EXPECT(get_item(target, {5, -3}) == 19);
    EXPECT(target.dimensions() == 2 && get_data(target, {}).strategy() == target.strategy());
  }
}

void masks() {
  std::mt19937 random(5);
  const Array array({5, 6});
  const auto odd = [](double value) { return static_cast<int>(value) % 3 == 1; };
  std::vector<double> chosen;
  std::vector<double> rows;
  Array filled = array;
  Array numbered = array;
  MaskList mask{{5, 6}, {}};
  for (std::size_t k = 0; k < array.values.size(); ++k) {
    mask.values.push_back(odd(array.values[k]));
    if (!mask.values.back()) continue;
    filled.values[k] = -1;
    numbered.values[k] = 100 + static_cast<double>(chosen.size());
    chosen.push_back(array.values[k]);
    rows.push_back(static_cast<double>(k / 6));
  }
  const Shape count{static_cast<Index>(chosen.size())};
  Array replacement(count);
  for (double& value : replacement.values) value += 100;
  const auto layouts = reference::layouts(MPI_COMM_WORLD, array.shape, random);
  for (std::size_t which = 0; which < layouts.size(); ++which) {
    const LayoutPtr& layout = layouts[which];
    const std::size_t which_other = (3 * which + 1) % layouts.size();
    for (const LayoutPtr& other : {layouts[which_other]}) {
      const auto whole = distributed(layout, array);
      DistArray<bool> truths(other);
      fill_by_index(*other, truths.data(), [&](std::span<const Index> at) {
        return odd(static_cast<double>(at[0] * 6 + at[1]));
      });
      EXPECT(equals(get_data(whole, truths), count, chosen));
      const std::vector<DistArray<Index>> found = where(truths);
      EXPECT(found.size() == 2 && equals(found[0], count, rows));
      EXPECT(equals(get_data(whole, found), count, chosen));
      for (const auto& same : {where(truths.astype<double>()), where(truths.astype<std::int8_t>()),
                               where(truths.astype<std::complex<float>>())})
        EXPECT(same.size() == 2 && equals(same[0], count, rows));
      const bool everywhere = which_other == 0 || checks::size == 1;
      for (const DistArray<Index>& list : found)
        EXPECT(list.strategy().kind() == (everywhere ? kNot : kFreeform));
      auto target = whole;
      target.set_hermitian(true);
      set_data(target, -1, truths);
      EXPECT(!target.hermitian());
      EXPECT(equals(target, array.shape, filled.values));
      target = whole;
      set_data(target,
               DistArray<double>::from_global(
                   MPI_COMM_WORLD, StridedView<double>(replacement.values.data(), count)),
               truths);
      EXPECT(equals(target, array.shape, numbered.values));
      target = whole;
      set_data(target, replacement.values, found);
      EXPECT(equals(target, array.shape, numbered.values));
      EXPECT(equals(get_data(whole, {found[0], 2}), count, [&] {
        std::vector<double> column;
        for (const double row : rows) column.push_back(row * 6 + 2);
        return column;
      }()));
    }
    EXPECT(equals(get_data(distributed(layout, array), mask), count, chosen));
    const DistArray<bool> nothing = DistArray<bool>::full(MPI_COMM_WORLD, array.shape, false);
    EXPECT(get_data(distributed(layout, array), nothing).shape() == Shape{0});
    EXPECT(get_data(distributed(layout, array), where(nothing)).shape() == Shape{0});
  }
}

/// What is everywhere is read by each process alone, while the others wait in a barrier: it needs
/// none of them.
void reads_of_what_is_here() {
  const auto array = DistArray<double>::arange(MPI_COMM_WORLD, Shape{6, 4}, kNot);
  const KeyOptions unchecked{.local_keys = false, .checks = Checks::kOff};
  for (int reader = 0; reader < checks::size; ++reader) {
    if (reader == checks::rank) {
      const auto rows = get_data(array, Slice{5, {}, -2}, unchecked);
      EXPECT(rows.strategy().kind() == kNot && rows.shape() == (Shape{3, 4}) &&
             rows.data()[0] == 20 && rows.data()[11] == 7);
      EXPECT(get_data(array, {IndexList{0, 5}, 1}, unchecked).data()[1] == 21);
      EXPECT(get_item(array, {2, 3}, Checks::kOff) == 11);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

void local_keys() {
  std::mt19937 random(11);
  const Array array({6, 5});
  const KeyOptions own{.local_keys = true};
  const auto layouts = reference::layouts(MPI_COMM_WORLD, array.shape, random);
  for (const LayoutPtr& layout : {layouts[0], layouts[1], layouts[5], layouts[7]}) {
    const auto whole = distributed(layout, array);
    // Process r asks for r rows from the end, and for its column.
    const auto rows = get_data(whole, Slice{{}, checks::rank < 6 ? -checks::rank - 1 : 0, {}}, own);
    EXPECT(rows.local_shape() == (Shape{5 - checks::rank, 5}));
    bool right = true;
    for (Index k = 0; k < rows.local_size(); ++k)
      right = right && rows.data()[k] == static_cast<double>(k);
    EXPECT(right);
    const auto columns = get_data(whole, {Slice{.step = -1}, checks::rank % 5}, own);
    for (Index k = 0; k < 6; ++k)
      right = right && columns.data()[k] == static_cast<double>((5 - k) * 5 + checks::rank % 5);
    EXPECT(right && columns.size() == 6 * checks::size);
    const auto single = get_data(whole, {checks::rank % 6, 4}, own);
    EXPECT(single.shape() == Shape{checks::size} &&
           single.data()[0] == static_cast<double>(checks::rank % 6 * 5 + 4));
    const auto nothing =
        get_data(whole, checks::rank == 0 ? Key(IndexList{5, 5}) : Key(IndexList{}), own);
    EXPECT(nothing.shape() == (Shape{2, 5}) &&
           nothing.local_size() == (checks::rank == 0 ? 10 : 0));
    // Everybody writes to row 0, the highest process last; and to its own row.
    auto target = whole;
    set_data(target, 100 + checks::rank, {IndexList{0, checks::rank % 6}, IndexList{2, 1}}, own);
    Array expected = array;
    expected.values[2] = 99 + checks::size;
    for (int rank = 0; rank < std::min(checks::size, 6); ++rank)
      expected.values[static_cast<std::size_t>(rank * 5 + 1)] = 100 + rank;
    EXPECT(equals(target, array.shape, expected.values));
    // Values of one's own, by a key of one's own: of one array, and of different ones.
    target = whole;
    set_data(target, whole, checks::rank, Slice{checks::rank + 1, checks::rank + 2, {}}, own);
    const auto low = DistArray<float>::arange(MPI_COMM_WORLD, Shape{5});
    const auto high = DistArray<float>::full(MPI_COMM_WORLD, Shape{5}, 7);
    set_data(target, checks::rank % 2 == 0 ? low : high, {checks::rank, Slice{1, 3}},
             Slice{3, {}, {}}, own);
    expected = array;
    for (int rank = 0; rank < std::min(checks::size, 5); ++rank) {
      for (int k = 0; k < 5; ++k) {
        const bool second = k == 1 || k == 2;
        const double value = second ? (rank % 2 == 0 ? k + 2 : 7) : (rank + 1) * 5 + k;
        expected.values[static_cast<std::size_t>(rank * 5 + k)] = value;
      }
    }
    EXPECT(equals(target, array.shape, expected.values));
  }
}

// All processes get the same error, whoever makes the mistake, and can go on.
void errors() {
  std::mt19937 random(13);
  const auto layouts = reference::layouts(MPI_COMM_WORLD, Shape{5, 4}, random);
  for (const LayoutPtr& layout : {layouts[0], layouts[1], layouts[5]}) {
    auto array = distributed(layout, Array({5, 4}));
    EXPECT(refused(ErrorKind::kKey, [&] { static_cast<void>(get_data(array, 5)); }));
    EXPECT(refused(ErrorKind::kKey, [&] { static_cast<void>(get_data(array, {kAll, -5})); }));
    EXPECT(refused(ErrorKind::kKey, [&] { static_cast<void>(get_data(array, {0, 0, 0})); }));
    EXPECT(refused(ErrorKind::kKey, [&] { static_cast<void>(get_data(array, IndexList{})); }));
    EXPECT(refused(ErrorKind::kKey, [&] {
      static_cast<void>(get_data(array, IndexList{checks::rank == 0 ? 7 : 1}));
    }));
    EXPECT(refused(ErrorKind::kKey, [&] { static_cast<void>(get_data(array, Slice{.step = 0})); }));
    EXPECT(refused(ErrorKind::kKey, [&] {
      static_cast<void>(get_data(array, LocalArray<Index>({2, 2}, 0)));
    }));
    EXPECT(refused(ErrorKind::kShape, [&] { static_cast<void>(get_item(array, 1)); }));
    EXPECT(refused(ErrorKind::kShape, [&] {
      set_data(array, std::vector<int>{1, 2, 3}, Slice{0, 2, {}});
    }));
    EXPECT(refused(ErrorKind::kShape, [&] {
      set_data(array, DistArray<double>::zeros(MPI_COMM_WORLD, Shape{3, 4}));
    }));
    const auto mask = DistArray<bool>::full(MPI_COMM_WORLD, Shape{4, 5}, true);
    EXPECT(refused(ErrorKind::kShape, [&] { static_cast<void>(get_data(array, mask)); }));
    const auto wrong = DistArray<Index>::full(MPI_COMM_WORLD, Shape{3}, 5);
    EXPECT(refused(ErrorKind::kKey, [&] { static_cast<void>(get_data(array, wrong)); }));
    EXPECT(refused(ErrorKind::kKey, [&] {
      static_cast<void>(get_data(array, {wrong, IndexList{1, 1}}));
    }));
    const auto plane = DistArray<Index>::zeros(MPI_COMM_WORLD, Shape{2, 2});
    EXPECT(refused(ErrorKind::kKey, [&] { static_cast<void>(get_data(array, plane)); }));
    EXPECT(refused(ErrorKind::kKey, [&] {
      static_cast<void>(get_data(array, checks::rank == 0 ? 9 : 0, {.local_keys = true}));
    }));
    if (checks::size > 1) {
      EXPECT(refused(ErrorKind::kArgument, [&] {
        static_cast<void>(get_data(array, Slice{checks::rank, 5, {}}));
      }));
      EXPECT(refused(ErrorKind::kArgument, [&] {
        static_cast<void>(
            get_data(array, {kAll, Slice{checks::rank == 0 ? 0 : 1, 4}}, {.local_keys = true}));
      }));
    }
    EXPECT(equals(array, {5, 4}, Array({5, 4}).values));
  }
}

}  // namespace

int main(int argc, char** argv) {
  checks::begin(&argc, &argv);
  checks::part("T11", t11);
  checks::part("slices", slices);
  checks::part("random keys", random_keys);
  checks::part("values", values);
  checks::part("masks", masks);
  checks::part("reads of what is here", reads_of_what_is_here);
  checks::part("local keys", local_keys);
  checks::part("labels", key_corners::labels);
  checks::part("masks of some axes", key_corners::masks_of_some_axes);
  checks::part("memory in common", key_corners::memory_in_common);
  checks::part("no axes", key_corners::no_axes);
  checks::part("errors", errors);
  return checks::end();
}
