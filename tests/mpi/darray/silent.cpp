// SPDX-License-Identifier: Apache-2.0
// What needs no messages sends none: MPI's profiling interface counts, and each process works while
// the others wait in a barrier.
#include "darray/array/keys/set_data.hpp"
#include "tests/mpi/darray/array_checks.hpp"
#include "tests/mpi/darray/counting.hpp"

namespace impishim::darray {
namespace {

using checks::rank;
using checks::size;

const MPI_Comm kWorld = MPI_COMM_WORLD;

/// Each process in turn, alone; numbers of arrays stay alike, since all make as many.
template <class Body>
void alone(Body body) {
  for (int worker = 0; worker < size; ++worker) {
    if (worker == rank) {
      impishim_test::count_from_here();
      body();
      EXPECT(impishim_test::counted().messages == 0);
    }
    MPI_Barrier(kWorld);
  }
}

/// Counts where there is something to count: everybody has elements for everybody.
void the_counter() {
  const Shape shape{4 * size};
  const auto array = DistArray<double>::arange(kWorld, shape);
  impishim_test::count_from_here();
  static_cast<void>(array.copy(make_distribution(shape, size, {.kinds = "c"})));
  EXPECT(size == 1 || impishim_test::counted().messages > 0);
}

void aligned_arithmetic() {
  auto a = DistArray<double>::ones(kWorld, Shape{100});
  const auto b = DistArray<double>::ones(kWorld, Shape{100});
  alone([&] {
    a += b * 2 + exp(a * 0) - 1;
    const DistArray<bool> larger(a > b);
    EXPECT(a.local_size() == 0 || (a.data()[0] == 3 && larger.data()[0]));
  });
}

void reads_of_not() {
  const auto array = DistArray<double>::arange(kWorld, Shape{6, 4}, kNot);
  alone([&] {
    const KeyOptions unchecked{.local_keys = false, .checks = Checks::kOff};
    EXPECT(get_data(array, Slice{5, {}, -2}, unchecked).data()[0] == 20);
    EXPECT(get_data(array, {IndexList{0, 5}, 1}, unchecked).data()[1] == 21);
    EXPECT(get_item(array, {2, 3}, Checks::kOff) == 11);
    EXPECT(array.get_full()[23] == 23);
  });
}

void slices() {
  for (const Strategy& strategy : {Strategy(kEqual), Strategy(kFftw)}) {
    auto array = DistArray<double>::arange(kWorld, Shape{9, 4}, strategy);
    alone([&] {
      const KeyOptions unchecked{.local_keys = false, .checks = Checks::kOff};
      EXPECT(get_data(array, {Slice{1, {}, 2}, Slice{0, 2}}, unchecked).shape() == (Shape{4, 2}));
      set_data(array, -1, {Slice{1, {}, 2}, Slice{0, 2}}, unchecked);
    });
  }
}

void making_and_copying() {
  const auto first = DistArray<double>::arange(kWorld, Shape{7, 3});
  const LocalArray<double> whole = first.get_full();
  alone([&] {
    auto made = DistArray<double>::full(kWorld, Shape{7, 3}, 2, kEqual, Checks::kOff);
    made.set_full(whole.view());
    made.set_local(first.local());
    made = first;
    EXPECT(first.copy<float>().get_local() == LocalArray<float>(made.local()));
    EXPECT(first.copy_empty<int>().layout() == first.layout());
  });
}

}  // namespace
}  // namespace impishim::darray

int main(int argc, char** argv) {
  using namespace impishim::darray;
  checks::begin(&argc, &argv);
  checks::part("the counter", the_counter);
  checks::part("aligned arithmetic", aligned_arithmetic);
  checks::part("reads of what is everywhere", reads_of_not);
  checks::part("slices", slices);
  checks::part("making and copying", making_and_copying);
  return checks::end();
}
