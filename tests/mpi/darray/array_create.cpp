// SPDX-License-Identifier: Apache-2.0
// How arrays are made, what every process has of them, copies in other types and strategies:
// strategies of T11, shapes with nothing in them, every element type, ghosts, borrowed memory.
#include <limits>
#include <memory>
#include <numeric>

#include "darray/array/keys/get_data.hpp"
#include "darray/index/make_distribution.hpp"
#include "tests/mpi/darray/array_checks.hpp"

namespace impishim::darray {
namespace {

using checks::has;
using checks::is;
using checks::local;
using checks::rank_in;
using checks::refused;
using checks::size_of;
using checks::strategies;

const MPI_Comm kWorld = MPI_COMM_WORLD;

void strategies_by_name() {
  for (const char* name : {"not", "equal", "fftw", "freeform"})
    EXPECT(Strategy(name).name() == name);
  EXPECT(refused(ErrorKind::kArgument, [] { Strategy("diagonal"); }));
  EXPECT(refused(ErrorKind::kArgument, [] { Strategy{DistributionPtr{}}; }));
  EXPECT(!Strategy(kFreeform).is_global() && Strategy(kFftw).is_slicing() &&
         !Strategy(kNot).is_slicing());
  // T11: (4, 4) on three processes.
  checks::on(3, [](MPI_Comm comm) {
    const auto mine = static_cast<std::size_t>(rank_in(comm));
    EXPECT(DistArray<double>::empty(comm, Shape{4, 4}, "equal").local_shape() ==
           (Shape{std::array{2, 1, 1}[mine], 4}));
    EXPECT(DistArray<double>::empty(comm, Shape{4, 4}, "fftw").local_shape() ==
           (Shape{std::array{2, 2, 0}[mine], 4}));
    EXPECT(DistArray<double>::empty(comm, Shape{4, 4}, "not").local_shape() == (Shape{4, 4}));
    const LocalArray<double> piece(Shape{4, 4}, static_cast<double>(mine));
    const auto joined = DistArray<double>::from_local(comm, piece.view());
    EXPECT(joined.shape() == (Shape{12, 4}) && joined.strategy() == Strategy(kFreeform));
    const LocalArray<double> full = joined.get_full();
    for (Index k = 0; k < full.size(); ++k) EXPECT(full[k] == static_cast<double>(k / 16));
    // An axis with nothing in it.
    EXPECT(DistArray<double>::empty(comm, Shape{0, 4}, kFftw).local_shape() == (Shape{0, 4}));
  });
  // Slices begin where those of all processes before end: unequal ones.
  checks::on_every_size([](MPI_Comm comm) {
    const Index mine = rank_in(comm);
    const Index processes = size_of(comm);
    const LocalArray<int> piece(Shape{mine + 1, 2}, static_cast<int>(mine));
    std::vector<int> whole;
    for (int process = 0; process < processes; ++process)
      whole.insert(whole.end(), static_cast<std::size_t>(2 * process + 2), process);
    const auto joined = DistArray<int>::from_local(comm, piece.view());
    EXPECT(joined.local_shape() == (Shape{mine + 1, 2}) &&
           is(joined, {processes * (processes + 1) / 2, 2}, whole));
  });
  EXPECT(refused(ErrorKind::kShape, [] { DistArray<double>::empty(kWorld, Shape{4}, kFreeform); }));
  EXPECT(refused(ErrorKind::kShape, [] {
    DistArray<double>::from_local(kWorld, LocalArray<double>(Shape{}).view());
  }));
}

void shared_layouts() {
  const auto a = DistArray<double>::empty(kWorld, Shape{6, 2});
  const auto b = DistArray<double>::zeros(kWorld, Shape{6, 2});
  EXPECT(a.layout() == b.layout() && a.copy_empty<int>().layout() == a.layout());
  EXPECT(a.layout() != DistArray<double>::empty(kWorld, Shape{2, 6}).layout());
  EXPECT(a.layout() != DistArray<double>::empty(kWorld, Shape{6, 2}, kFftw).layout());
  const LocalArray<double> piece(Shape{checks::rank + 1, 2}, 1.0);
  EXPECT(DistArray<double>::from_local(kWorld, piece.view()).layout() ==
         DistArray<double>::from_local(kWorld, piece.view()).layout());
  for (Index extent = 0; extent < 600; ++extent)
    static_cast<void>(DistArray<char>::empty(kWorld, Shape{extent}, kEqual, Checks::kOff));
  EXPECT(a.layout() == DistArray<double>::empty(kWorld, Shape{6, 2}).layout());
}

void creation() {
  checks::on_every_size([](MPI_Comm comm) {
    for (const Shape& shape :
         {Shape{}, Shape{1}, Shape{7}, Shape{0}, Shape{5, 3}, Shape{3, 0, 2}, Shape{2, 3, 4}}) {
      const Index count = element_count(shape);
      std::vector<double> numbers(static_cast<std::size_t>(count));
      std::iota(numbers.begin(), numbers.end(), 0.0);
      const LocalArray<double> global = local(shape, numbers);
      for (const Strategy& strategy : strategies(shape, size_of(comm))) {
        EXPECT(is(DistArray<double>::arange(comm, shape, strategy), shape, numbers));
        EXPECT(is(DistArray<double>::from_global(comm, global.view(), strategy), shape, numbers));
        EXPECT(is(DistArray<int>::full(comm, shape, 3, strategy), shape,
                  std::vector<int>(numbers.size(), 3)));
        EXPECT(is(DistArray<int>::ones(comm, shape, strategy, Checks::kOff), shape,
                  std::vector<int>(numbers.size(), 1)));
        const auto by_index = [](std::span<const Index> at) {
          return std::accumulate(at.begin(), at.end(), Index{0});
        };
        const auto summed = DistArray<Index>::from_function(comm, shape, by_index, strategy);
        EXPECT(summed.get_full() ==
               DistArray<Index>::from_function(comm, shape, by_index, kNot).get_local());
      }
    }
  });
}

template <class T>
void one_type() {
  const auto numbers = DistArray<T>::arange(kWorld, Shape{2, 1}, kEqual);
  EXPECT(is(numbers, {2, 1}, std::vector<T>{T(0), T(1)}));
  EXPECT(is(numbers.template astype<double>(), {2, 1}, std::vector<double>{0, 1}));
  EXPECT(is(numbers.template copy<std::complex<double>>(kNot), {2, 1},
            std::vector<std::complex<double>>{0, 1}));
  EXPECT(is(DistArray<bool>::arange(kWorld, Shape{2}).template copy<T>(kFftw), {2},
            std::vector<T>{T(0), T(1)}));
}

/// Every process has everything, in the order of its labels: whatever gives the whole gives it in
/// the order of the indices.
void labels() {
  checks::on_every_size([](MPI_Comm comm) {
    const auto labelled = [&](std::vector<Index> labels) {
      return Strategy(Distribution::make(ProcessGrid({size_of(comm)}),
                                         {{DimMap::unstructured({std::move(labels)}, true)}}));
    };
    const LocalArray<double> data = local<double>({3}, {10, 11, 12});
    const auto array = DistArray<double>::from_global(comm, data.view(), labelled({2, 0, 1}));
    EXPECT(has(array, {3}, std::vector<double>{12, 10, 11}) &&
           is(array, {3}, std::vector<double>{10, 11, 12}));
    EXPECT(!array.layout()->is_everywhere() && array.layout()->has_labels());
    EXPECT(is(array.flatten(), {3}, std::vector<double>{10, 11, 12}));
    EXPECT(is(DistArray<double>(array + data.view()), {3}, std::vector<double>{20, 22, 24}));
    double expected = 10;
    for (const double value : elements(array)) EXPECT(value == expected++);
    EXPECT(is(get_data(array, Slice{0, 3, {}}), {3}, std::vector<double>{10, 11, 12}));
    EXPECT(is(get_data(array, Slice{1, 3, {}}), {2}, std::vector<double>{11, 12}) &&
           get_item(array, -1) == 12);
    EXPECT(DistArray<double>::from_global(comm, data.view(), labelled({0, 1, 2}))
               .layout()
               ->is_everywhere());
    const auto others = DistArray<double>::ones(comm, Shape{3}, labelled({2, 0, 7}));
    EXPECT(refused(ErrorKind::kKey, [&] { static_cast<void>(others.get_full()); }));
  });
}

void types() {
  one_type<bool>();
  one_type<std::int8_t>();
  one_type<std::int16_t>();
  one_type<std::int32_t>();
  one_type<std::int64_t>();
  one_type<std::uint8_t>();
  one_type<std::uint16_t>();
  one_type<std::uint32_t>();
  one_type<std::uint64_t>();
  one_type<float>();
  one_type<double>();
  one_type<long double>();
  one_type<std::complex<float>>();
  one_type<std::complex<double>>();
  EXPECT(DistArray<int>::from_global(kWorld, local<double>({2}, {2.75, -2.75}).view()).get_full() ==
         local<int>({2}, {2, -2}));
  // What an integer cannot be: the nearest one, on all machines alike.
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto odd = DistArray<float>::from_global(
      kWorld, local<float>({6}, {std::numeric_limits<float>::quiet_NaN(), 1e10F, -1e10F, kInfinity,
                                 -kInfinity, -0.5F})
                  .view());
  using Wide = std::numeric_limits<std::int64_t>;
  using Narrow = std::numeric_limits<std::int8_t>;
  EXPECT(is(
      odd.astype<std::int8_t>(), {6},
      std::vector<std::int8_t>{0, Narrow::max(), Narrow::min(), Narrow::max(), Narrow::min(), 0}));
  EXPECT(is(odd.astype<std::int64_t>(), {6},
            std::vector<std::int64_t>{0, 10000000000, -10000000000, Wide::max(), Wide::min(), 0}));
  EXPECT(is(odd.astype<std::uint8_t>(), {6}, std::vector<std::uint8_t>{0, 255, 0, 255, 0, 0}));
}

void what_differs() {
  if (checks::size == 1) return;
  const bool last = checks::rank == checks::size - 1;
  EXPECT(refused(ErrorKind::kArgument, [&] {
    DistArray<double>::empty(kWorld, Shape{4, last ? 5 : 4});
  }));
  EXPECT(refused(ErrorKind::kArgument, [&] {
    DistArray<double>::empty(kWorld, last ? Shape{4} : Shape{4, 1});
  }));
  EXPECT(refused(ErrorKind::kArgument,
                 [&] { DistArray<double>::empty(kWorld, Shape{4}, last ? kNot : kEqual); }));
  EXPECT(refused(ErrorKind::kArgument, [&] {
    if (last) return static_cast<void>(DistArray<float>::empty(kWorld, Shape{4}));
    static_cast<void>(DistArray<double>::empty(kWorld, Shape{4}));
  }));
  EXPECT(
      refused(ErrorKind::kShape, [&] { DistArray<double>::empty(kWorld, Shape{last ? -1 : 4}); }));
  const LocalArray<double> piece(Shape{2, last ? 3 : 4});
  EXPECT(
      refused(ErrorKind::kArgument, [&] { DistArray<double>::from_local(kWorld, piece.view()); }));
}

void precedence() {
  const LocalArray<int> data = local<int>({3}, {4, 5, 6});
  const LocalArray<int> piece = local<int>({1}, {checks::rank});
  const StridedView<const int> global = data.view();
  // Data before shape, a given type before that of the data; double without either.
  EXPECT(is(make_array<int>(kWorld, {.global_data = global, .global_shape = Shape{9, 9}}), {3},
            std::vector<int>{4, 5, 6}));
  EXPECT(is(make_array<float, int>(kWorld, {.global_data = global}), {3},
            std::vector<float>{4, 5, 6}));
  const auto shaped = make_array(kWorld, Initial<>{.value = 2.5, .global_shape = Shape{2}});
  EXPECT(is(shaped, {2}, std::vector<double>{2.5, 2.5}) && shaped.hermitian());
  EXPECT(make_array<int>(kWorld, {.local_data = piece.view(), .strategy = kFreeform}).shape() ==
         Shape{checks::size});
  EXPECT(make_array<int>(kWorld, {.local_shape = Shape{2, 2}, .strategy = kFreeform}).shape() ==
         (Shape{2 * checks::size, 2}));
  // An array as global and as local data.
  EXPECT(is(make_array<double>(kWorld, {.global_array = &shaped, .strategy = kFftw}), {2},
            std::vector<double>{2.5, 2.5}));
  const auto many = make_array<double>(kWorld, {.local_array = &shaped, .strategy = kFreeform});
  EXPECT(is(many, {2 * checks::size},
            std::vector<double>(static_cast<std::size_t>(2 * checks::size), 2.5)));
  // Nothing, or the other kind's.
  EXPECT(refused(ErrorKind::kArgument,
                 [&] { make_array<int>(kWorld, {.local_data = piece.view()}); }));
  EXPECT(refused(ErrorKind::kArgument, [&] {
    make_array<int>(kWorld, {.global_shape = Shape{2}, .strategy = kFreeform});
  }));
  MPI_Comm other = MPI_COMM_NULL;
  MPI_Comm_dup(kWorld, &other);
  EXPECT(
      refused(ErrorKind::kArgument, [&] { make_array<double>(other, {.global_array = &shaped}); }));
  EXPECT(refused(ErrorKind::kArgument, [&] {
    make_array<double>(other, {.local_array = &shaped, .strategy = kFreeform});
  }));
  MPI_Comm_free(&other);
  EXPECT(refused(ErrorKind::kArgument, [] { make_array<int>(kWorld, {}); }));
  EXPECT(refused(ErrorKind::kArgument, [] { make_array<int>(kWorld, {.strategy = kFreeform}); }));
  if (checks::size == 1) return;
  Initial<int> in_files{.global_shape = Shape{3}};
  if (checks::rank == 0) in_files.file = "nowhere.npy";
  EXPECT(refused(ErrorKind::kArgument, [&] { make_array<int>(kWorld, in_files); }));
  Initial<int> some{.global_shape = Shape{3}};
  if (checks::rank == 0) some.global_data = global;
  EXPECT(refused(ErrorKind::kArgument, [&] { make_array<int>(kWorld, some); }));
}

void local_access() {
  checks::on_every_size([](MPI_Comm comm) {
    const Shape shape{5, 4};
    const auto source = DistArray<double>::arange(comm, shape, kNot);
    for (const Strategy& strategy : strategies(shape, size_of(comm))) {
      auto array = DistArray<int>::full(comm, shape, -1, strategy);
      std::fill_n(array.data(), array.layout()->buffer_size(), -7);
      array.fill(1);
      EXPECT(array.hermitian());
      // Ghosts are nobody's elements.
      EXPECT(std::count(array.data(), array.data() + array.layout()->buffer_size(), -7) ==
             array.layout()->buffer_size() - array.local_size());
      array.set_full(source.local());
      EXPECT(!array.hermitian());
      EXPECT(array.get_full() == LocalArray<int>(source.local()));
      const LocalArray<int> mine = array.get_local();
      EXPECT(mine.shape() == array.local_shape());
      array.fill(0);
      array.set_local(mine.view());
      EXPECT(array.get_full() == LocalArray<int>(source.local()));
      // Values of another type are cast, as an assignment of them would be.
      const LocalArray<double> broken(array.local_shape(), -2.75);
      array.set_hermitian(true);
      array.set_local(broken.view());
      EXPECT(!array.hermitian() && is(array, shape, std::vector<int>(20, -2)));
      EXPECT(refused(ErrorKind::kShape, [&] {
        array.set_local(LocalArray<int>(Shape{9, 9}).view());
      }));
      EXPECT(refused(ErrorKind::kShape, [&] {
        array.set_full(LocalArray<int>(Shape{4, 5}).view());
      }));
    }
  });
}

void whole_arrays() {
  checks::on_every_size([](MPI_Comm comm) {
    const Shape shape{5, 4};
    const LocalArray<double> expected = DistArray<double>::arange(comm, shape, kNot).get_local();
    for (const Strategy& strategy : strategies(shape, size_of(comm))) {
      const auto array = DistArray<double>::arange(comm, shape, strategy);
      for (int target = 0; target < size_of(comm); ++target) {
        const auto full = array.get_full(target);
        EXPECT(full.has_value() == (rank_in(comm) == target));
        if (full) EXPECT(*full == expected);
        auto filled = array.copy_empty();
        filled.set_full(rank_in(comm) == target ? expected.view() : LocalArray<double>().view(),
                        target);
        EXPECT(filled.get_full() == expected);
      }
    }
    const auto array = DistArray<double>::arange(comm, shape);
    EXPECT(
        refused(ErrorKind::kArgument, [&] { static_cast<void>(array.get_full(size_of(comm))); }));
  });
}

void borrowed() {
  std::vector<double> memory{1, 2, 3, 4};
  const StridedView<double> view(memory.data(), Shape{4});
  {
    auto lent = DistArray<double>::from_local(kWorld, view, Checks::kOn, CopyMode::kAvoid);
    EXPECT(lent.data() == memory.data());
    lent.fill(5);
    EXPECT(DistArray<double>::from_local(kWorld, view).data() != memory.data());
    EXPECT(
        DistArray<double>::from_global(kWorld, view, kNot, Checks::kOn, CopyMode::kAvoid).data() ==
        memory.data());
    // Not side by side: copied all the same.
    const StridedView<double> every_second(memory.data(), Shape{2}, {2});
    EXPECT(is(
        DistArray<double>::from_global(kWorld, every_second, kNot, Checks::kOn, CopyMode::kAvoid),
        {2}, std::vector<double>{5, 5}));
  }
  EXPECT(memory == std::vector<double>(4, 5.0));
}

void copies() {
  checks::on_every_size([](MPI_Comm comm) {
    const Shape shape{5, 4};
    const LocalArray<float> expected = DistArray<float>::arange(comm, shape, kNot).get_local();
    std::vector<Strategy> all = strategies(shape, size_of(comm));
    all.emplace_back(kFreeform);
    for (const Strategy& from : all) {
      auto first = DistArray<double>::arange(comm, shape, kEqual).copy(from);
      EXPECT(first.strategy() == from);
      first.set_hermitian(true);
      for (const Strategy& to : all) {
        const auto second = first.copy<float>(to);
        EXPECT(second.strategy() == to && second.get_full() == expected && second.hermitian());
        EXPECT(first.copy_empty<int>({.strategy = to}).strategy() == to);
        if (to.is_global()) {
          auto third = DistArray<float>::zeros(comm, shape, to);
          third = first.copy<float>();
          EXPECT(third.get_full() == expected);
        }
      }
      if (from.kind() != Strategy::Kind::kLayout && from.is_global())
        EXPECT(is(DistArray<double>::ones(comm, Shape{}, from).flatten(), {1},
                  std::vector<double>{1}));
      const auto flat = first.flatten();
      EXPECT(flat.shape() == Shape{20} &&
             flat.get_full() == DistArray<double>::arange(comm, Shape{20}, kNot).get_local());
    }
    EXPECT(is(DistArray<double>::ones(comm, Shape{}, make_on_one(Shape{}, 0)).flatten(), {1},
              std::vector<double>{1}));
    const auto array = DistArray<double>::arange(comm, shape);
    EXPECT(array.copy_empty().layout() == array.layout());
    EXPECT(array.copy_empty({.global_shape = Shape{3}}).shape() == Shape{3});
    EXPECT(array.copy_empty({.local_shape = Shape{2}, .strategy = kFreeform}).shape() ==
           Shape{2 * size_of(comm)});
    // `not` to freeform goes through equal and does not multiply (D2O-52).
    EXPECT(DistArray<double>::arange(comm, shape, kNot).copy(kFreeform).local_shape() ==
           array.local_shape());
    EXPECT(DistArray<double>::arange(comm, shape, kNot).flatten().strategy() == Strategy(kNot));
    EXPECT(DistArray<double>::arange(comm, Shape{size_of(comm), 4}).flatten().strategy() ==
           Strategy(kEqual));
    if (size_of(comm) == 3) EXPECT(array.flatten().strategy() == Strategy(kFreeform));
  });
}

void values() {
  auto a = DistArray<double>::arange(kWorld, Shape{3});
  DistArray<double> b = a;
  b.fill(7);
  EXPECT(is(a, {3}, std::vector<double>{0, 1, 2}));
  const double* const memory = b.data();
  DistArray<double> c = std::move(b);
  EXPECT(c.data() == memory);
  c = a;  // the same layout: into the memory that is there
  EXPECT(c.data() == memory && is(c, {3}, std::vector<double>{0, 1, 2}));
  DistArray<double> d;
  d = a;
  EXPECT(is(d, {3}, std::vector<double>{0, 1, 2}));
  EXPECT(a.length() == 3 && a.size() == 3);
  const auto plane = DistArray<double>::zeros(kWorld, Shape{3, 2});
  EXPECT(plane.length() == 3 && plane.size() == 6 && plane.dimensions() == 2);
  EXPECT(refused(ErrorKind::kShape,
                 [] { static_cast<void>(DistArray<double>::zeros(kWorld, Shape{}).length()); }));
}

void complex_parts() {
  using Complex = std::complex<double>;
  const LocalArray<Complex> data = local<Complex>({2}, {{1, 2}, {3, -4}});
  auto array = DistArray<Complex>::from_global(kWorld, data.view());
  EXPECT(is(array.real(), {2}, std::vector<double>{1, 3}) &&
         is(array.imag(), {2}, std::vector<double>{2, -4}));
  EXPECT(is(array.conj(), {2}, std::vector<Complex>{{1, -2}, {3, 4}}));
  EXPECT(!array.conj().hermitian());
  array.set_hermitian(true);
  EXPECT(array.real().hermitian() && array.imag().hermitian() && array.conj().hermitian());
  array.set_full(data.view());
  EXPECT(!array.hermitian());
  array.fill({0, 1});
  EXPECT(!array.hermitian());
}

/// Arrays may live longer than their communicator, and keep nothing alive but what they are made
/// of.
void freed_communicators() {
  std::weak_ptr<Context> context;
  {
    MPI_Comm own = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_SELF, &own);
    const auto array = DistArray<double>::arange(own, Shape{2, 3});
    context = array.layout()->context();
    MPI_Comm_free(&own);
    EXPECT(array.flatten().shape() == Shape{6} && !context.expired());
  }
  EXPECT(context.expired());
}

void librarian() {
  ArrayId id;
  {
    auto array = DistArray<double>::arange(kWorld, Shape{4});
    id = array.id();
    EXPECT(DistArray<double>::find(kWorld, id) == &array);
    // Every process has the same number for it, and finds its own piece.
    std::uint64_t numbers[2] = {id.group, id.number};
    MPI_Bcast(numbers, 2, MPI_UINT64_T, 0, kWorld);
    EXPECT((id == ArrayId{numbers[0], numbers[1]}));
    DistArray<double> moved = std::move(array);
    EXPECT(DistArray<double>::find(kWorld, id) == &moved && moved.id() == id);
    EXPECT(
        refused(ErrorKind::kType, [&] { static_cast<void>(DistArray<float>::find(kWorld, id)); }));
    // Groups count for themselves, and do not know each other's arrays.
    MPI_Comm half = MPI_COMM_NULL;
    MPI_Comm_split(kWorld, checks::rank % 2, checks::rank, &half);
    {
      const auto other = DistArray<double>::arange(half, Shape{4});
      EXPECT(other.id().group != id.group && DistArray<double>::find(half, other.id()) == &other);
      EXPECT(refused(ErrorKind::kArgument,
                     [&] { static_cast<void>(DistArray<double>::find(half, id)); }));
    }
    MPI_Comm_free(&half);
  }
  EXPECT(DistArray<double>::find(kWorld, id) == nullptr);
}

}  // namespace
}  // namespace impishim::darray

int main(int argc, char** argv) {
  using namespace impishim::darray;
  checks::begin(&argc, &argv);
  checks::part("strategies by name", strategies_by_name);
  checks::part("shared layouts", shared_layouts);
  checks::part("creation", creation);
  checks::part("labels", labels);
  checks::part("types", types);
  checks::part("what differs between processes", what_differs);
  checks::part("precedence", precedence);
  checks::part("local access", local_access);
  checks::part("whole arrays", whole_arrays);
  checks::part("borrowed memory", borrowed);
  checks::part("copies", copies);
  checks::part("values", values);
  checks::part("complex parts", complex_parts);
  checks::part("freed communicators", freed_communicators);
  checks::part("librarian", librarian);
  return checks::end();
}
