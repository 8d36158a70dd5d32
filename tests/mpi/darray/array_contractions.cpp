// SPDX-License-Identifier: Apache-2.0
// Contractions of arrays: T11's matrix and ties in every layout, axes and the strategies of the
// results (D2O-71), arrays with nothing in them, medians, unique values, counts, cumulative sums.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "darray/index/make_distribution.hpp"
#include "tests/mpi/darray/array_checks.hpp"

namespace impishim::darray {
namespace {

using checks::is;
using checks::local;
using checks::rank_in;
using checks::refused;
using checks::size_of;
using checks::strategies;
using Numbers = std::vector<Index>;

const MPI_Comm kWorld = MPI_COMM_WORLD;

/// T11: [[3, 1, 2], [0, 5, 1], [4, 1, 1], [2, 2, 2]].
void the_matrix() {
  checks::on_every_size([](MPI_Comm comm) {
    const Shape shape{4, 3};
    const LocalArray<int> data = local<int>(shape, {3, 1, 2, 0, 5, 1, 4, 1, 1, 2, 2, 2});
    const Numbers cumsum_of_ones{1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4};
    for (const Strategy& strategy : strategies(shape, size_of(comm))) {
      const auto a = DistArray<int>::from_global(comm, data.view(), strategy);
      EXPECT(is(cumsum(a), {12}, Numbers{3, 4, 6, 6, 11, 12, 16, 17, 18, 20, 22, 24}));
      EXPECT(is(cumsum(a, 0), shape, Numbers{3, 1, 2, 3, 6, 3, 7, 7, 4, 9, 9, 6}));
      EXPECT(is(cumsum(a, 1), shape, Numbers{3, 4, 6, 0, 5, 6, 4, 5, 6, 2, 4, 6}));
      EXPECT(is(bincount(a), {6}, Numbers{1, 4, 4, 1, 1, 1}));
      EXPECT(is(bincount(a, 8), {8}, Numbers{1, 4, 4, 1, 1, 1, 0, 0}));
      EXPECT(is(bincount(a, DistArray<double>(a * 0.5)), {6},
                std::vector<double>{0, 2, 4, 1.5, 2, 2.5}));
      EXPECT(argmax(a) == 4 && argmin(a) == 3);
      EXPECT((argmax_nonflat(a) == Numbers{1, 1}) && (argmin_nonflat(a) == Numbers{1, 0}));
      EXPECT(is(unique(a), {6}, std::vector<int>{0, 1, 2, 3, 4, 5}));
      EXPECT(mean(a) == 2 && std::abs(var(a) - 11.0 / 6) < 1e-14 && vdot(a, a) == 70 &&
             dot(a, a) == 70);
      EXPECT(std::abs(stddev(a) - std::sqrt(11.0 / 6)) < 1e-14 &&
             std::abs(var(a, Ddof{1}) - 2) < 1e-14);
      EXPECT(sum(a) == 24 && prod(a) == 0 && prod(a + 1) == 4 * 2 * 3 * 6 * 2 * 5 * 2 * 2 * 27 &&
             min(a) == 0 && max(a) == 5);
      EXPECT(any(a) && !all(a) && all(a < 6) && count_nonzero(a) == 11 &&
             count_nonzero(a == 1) == 4);
      EXPECT(median(a) == 2 && allclose(a, a * 1.000001) && !allclose(a, a * 1.1));
      // Of what no variable holds, too.
      EXPECT(std::abs(stddev(a + 1) - stddev(a)) < 1e-14 && nanmin(a - 1) == -1 &&
             nanmax(2 * a) == 10 && median(a + 1) == 3);
      EXPECT(argmin(-a) == 4 && argmax(-a) == 3 && (argmin_nonflat(-a) == Numbers{1, 1}) &&
             argmax_nonflat(-a)[0] == 1);
      EXPECT(is(argmin(-a, 0), {3}, Numbers{2, 1, 0}) &&
             is(unique(a / 5), {6}, std::vector<double>{0, 0.2, 0.4, 0.6, 0.8, 1}));
      EXPECT(is(bincount(a + 0), {6}, Numbers{1, 4, 4, 1, 1, 1}) &&
             is(cumsum(0 * a + 1, 0), shape, cumsum_of_ones));
    }
  });
}

void axes() {
  checks::on_every_size([](MPI_Comm comm) {
    const Shape shape{4, 3};
    const LocalArray<int> data = local<int>(shape, {3, 1, 2, 0, 5, 1, 4, 1, 1, 2, 2, 2});
    for (const Strategy& strategy : strategies(shape, size_of(comm))) {
      const auto a = DistArray<int>::from_global(comm, data.view(), strategy);
      EXPECT(is(sum(a, {0}), {3}, Numbers{9, 9, 6}) && is(sum(a, {1}), {4}, Numbers{6, 6, 6, 6}));
      EXPECT(is(sum(a, {0, 1}), {}, Numbers{24}) &&
             is(sum(a, AxisList{}), shape, Numbers{3, 1, 2, 0, 5, 1, 4, 1, 1, 2, 2, 2}));
      EXPECT(is(prod(a, {1}), {4}, Numbers{6, 0, 4, 8}));
      EXPECT(is(min(a, {0}), {3}, std::vector<int>{0, 1, 1}) &&
             is(max(a, {1}), {4}, std::vector<int>{3, 5, 4, 2}));
      EXPECT(is(all(a, {1}), {4}, std::vector<bool>{true, false, true, true}) &&
             is(any(a == 5, AxisList{0}), {3}, std::vector<bool>{false, true, false}));
      EXPECT(is(mean(a, {1}), {4}, std::vector<double>{2, 2, 2, 2}) &&
             is(mean(a, {0}), {3}, std::vector<double>{2.25, 2.25, 1.5}));
      EXPECT(allclose(var(a, {0}), local<double>({3}, {2.1875, 2.6875, 0.25}).view(), 1e-15));
      const LocalArray<double> deviations =
          local<double>({4}, {std::sqrt(2.0 / 3), std::sqrt(14.0 / 3), std::sqrt(2.0), 0});
      EXPECT(allclose(stddev(a, {1}), deviations.view(), 1e-15));
      EXPECT(is(argmin(a, 0), {3}, Numbers{1, 0, 1}) && is(argmax(a, 1), {4}, Numbers{0, 1, 0, 0}));
      EXPECT(is(median(a, {0}), {3}, std::vector<double>{2.5, 1.5, 1.5}) &&
             is(median(a, {1}), {4}, std::vector<double>{2, 1, 1, 2}));
      EXPECT(is(median(a, {0, 1}), {}, std::vector<double>{2}) &&
             is(count_nonzero(a, {0}), {3}, Numbers{3, 4, 4}));
      if (strategy == Strategy(kEqual) || strategy == Strategy(kFftw)) {
        EXPECT(sum(a, {0}).strategy() == Strategy(kNot) && sum(a, {1}).strategy() == strategy);
        EXPECT(median(a, {0}).strategy() == Strategy(kNot) &&
               median(a, {1}).strategy() == strategy);
        EXPECT(cumsum(a, 0).layout() == a.layout());
      }
      EXPECT(refused(ErrorKind::kArgument, [&] { static_cast<void>(sum(a, {2})); }));
    }
    const LocalArray<int> piece(Shape{rank_in(comm), 2}, 1);
    const auto free = DistArray<int>::from_local(comm, piece.view());
    const bool alone = size_of(comm) == 1;
    EXPECT(alone || sum(free, {1}).strategy() == Strategy(kFreeform));
    EXPECT(alone || sum(free, {1}).local_shape() == Shape{rank_in(comm)});
  });
}

void ties_and_great_numbers() {
  checks::on_every_size([](MPI_Comm comm) {
    for (const Strategy& strategy : strategies({4}, size_of(comm))) {
      const auto ties =
          DistArray<int>::from_global(comm, local<int>({4}, {7, 1, 7, 1}).view(), strategy);
      EXPECT(argmax(ties) == 0 && argmin(ties) == 1);
      // A fraction, of elements that have none.
      const auto whole =
          DistArray<int>::from_global(comm, local<int>({4}, {1, 2, 2, 0}).view(), strategy);
      const auto flags = DistArray<bool>::from_global(
          comm, local<bool>({4}, {true, false, true, true}).view(), strategy);
      EXPECT(mean(whole) == 1.25 && mean(flags) == 0.75);
      // Squares would cancel.
      const auto far = DistArray<double>::from_global(
          comm, local<double>({4}, {1e9, 1e9 + 1, 1e9 + 2, 1e9 + 3}).view(), strategy);
      // Exact where processes follow each other in the order of the elements; elsewhere the mean is
      // rounded at 1e9.
      const double allowed = strategy.is_slicing() ? 0 : 1e-6;
      EXPECT(std::abs(var(far) - 1.25) <= allowed && std::abs(mean(far) - (1e9 + 1.5)) <= allowed);
      // Indices and values beyond doubles.
      const Index great = Index{1} << 60;
      const auto near = DistArray<Index>::from_global(
          comm, local<Index>({4}, {great, great + 1, great - 1, great}).view(), strategy);
      EXPECT(argmax(near) == 1 && argmin(near) == 2 && max(near) == great + 1);
    }
    using Complex = std::complex<double>;
    const auto c =
        DistArray<Complex>::from_global(comm, local<Complex>({2}, {{1, 2}, {3, -4}}).view());
    EXPECT(sum(c) == Complex(4, -2) && mean(c) == Complex(2, -1) && vdot(c, c) == Complex(30, 0) &&
           dot(c, c) == Complex(-10, -20));
    EXPECT(is(sum(c, {0}), {}, std::vector<Complex>{{4, -2}}) &&
           is(unique(c), {2}, std::vector<Complex>{{1, 2}, {3, -4}}));
  });
}

void nothing_at_all() {
  checks::on_every_size([](MPI_Comm comm) {
    for (const Strategy& strategy : strategies({0}, size_of(comm))) {
      const auto none = DistArray<double>::empty(comm, Shape{0}, strategy);
      EXPECT(sum(none) == 0 && prod(none) == 1 && std::isnan(mean(none)) && std::isnan(var(none)) &&
             std::isnan(median(none)));
      EXPECT(!any(none) && all(none) && unique(none).size() == 0 && cumsum(none).size() == 0);
      EXPECT(refused(ErrorKind::kArgument, [&] { static_cast<void>(min(none)); }));
      EXPECT(refused(ErrorKind::kArgument, [&] { static_cast<void>(max(none)); }));
      EXPECT(refused(ErrorKind::kArgument, [&] { static_cast<void>(argmin(none)); }));
    }
    // T8: two rows on four processes, two of which have nothing; and no axes at all.
    const auto few = DistArray<int>::from_global(comm, local<int>({2}, {5, 3}).view(), kFftw);
    EXPECT(sum(few) == 8 && min(few) == 3 && max(few) == 5 && argmin(few) == 1);
    const auto one = DistArray<int>::full(comm, Shape{}, 6);
    EXPECT(sum(one) == 6 && argmax(one) == 0 && is(one, {}, std::vector<int>{6}) && mean(one) == 6);
    EXPECT(bincount(DistArray<int>::empty(comm, Shape{0}), 2).size() == 2);
    EXPECT(refused(ErrorKind::kArgument,
                   [&] { static_cast<void>(bincount(DistArray<int>::full(comm, Shape{3}, -1))); }));
  });
}

void not_a_number() {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto a =
      DistArray<double>::from_global(kWorld, local<double>({5}, {2, nan, -1, nan, 2}).view());
  EXPECT(std::isnan(min(a)) && std::isnan(max(a)) && nanmin(a) == -1 && nanmax(a) == 2 &&
         std::isnan(median(a)));
  const LocalArray<double> values = unique(a);
  EXPECT(values.size() == 3 && values[0] == -1 && values[1] == 2 && std::isnan(values[2]));
  EXPECT(!allclose(a, a));
}

/// Medians and unique values of random numbers against a sorted copy.
void random_numbers() {
  std::mt19937 random(5);
  for (int again = 0; again < 20; ++again) {
    const auto size = static_cast<Index>(random() % 200 + 1);
    LocalArray<int> numbers(Shape{size});
    for (int& number : numbers) number = static_cast<int>(random() % 50);
    const auto array =
        DistArray<int>::from_global(kWorld, numbers.view(), again % 2 == 0 ? kEqual : kFftw);
    std::sort(numbers.begin(), numbers.end());
    const double upper = numbers[size / 2];
    EXPECT(median(array) == (size % 2 == 1 ? upper : (numbers[size / 2 - 1] + upper) / 2));
    const std::vector<int> different(numbers.begin(), std::unique(numbers.begin(), numbers.end()));
    EXPECT(is(unique(array), {static_cast<Index>(different.size())}, different));
  }
}

/// Every process has all of it, in the order of its labels.
void labels() {
  checks::on_every_size([](MPI_Comm comm) {
    const Strategy strategy =
        Distribution::make(ProcessGrid({size_of(comm)}),
                           {{DimMap::unstructured({{2, 0, 1}}, true)}, {DimMap::collapsed(2)}});
    const LocalArray<int> data = local<int>({3, 2}, {1, 2, 3, 4, 5, 7});
    const auto a = DistArray<int>::from_global(comm, data.view(), strategy);
    EXPECT(is(sum(a, {1}), {3}, Numbers{3, 7, 12}) && is(sum(a, {0}), {2}, Numbers{9, 13}) &&
           sum(a) == 22);
    EXPECT(is(cumsum(a), {6}, Numbers{1, 3, 6, 10, 15, 22}) &&
           is(cumsum(a, 0), {3, 2}, Numbers{1, 2, 4, 6, 9, 13}));
    EXPECT(is(argmax(a, 1), {3}, Numbers{1, 1, 1}) && (argmax_nonflat(a) == Numbers{2, 1}));
    EXPECT(median(a) == 3.5 && is(median(a, {1}), {3}, std::vector<double>{1.5, 3.5, 6}));
    EXPECT(is(unique(a), {6}, std::vector<int>{1, 2, 3, 4, 5, 7}));
    EXPECT(refused(ErrorKind::kUnsupported, [&] { static_cast<void>(argmax(a)); }));
    EXPECT(refused(ErrorKind::kUnsupported, [&] { static_cast<void>(argmin(a)); }));
  });
}

void equality() {
  const auto a = DistArray<int>::arange(kWorld, Shape{4});
  EXPECT(equal(a, a.copy()) && !equal(a, a.copy<double>()) &&
         !equal(a, DistArray<int>::arange(kWorld, Shape{4, 1})));
  EXPECT(!equal(a, DistArray<int>(a + 1)) && !equal(a, a.copy(kNot)));
  EXPECT(dot(a, a.copy(kNot)) == 14 && vdot(a.copy(kFftw), a) == 14);
}

}  // namespace
}  // namespace impishim::darray

int main(int argc, char** argv) {
  using namespace impishim::darray;
  checks::begin(&argc, &argv);
  checks::part("the matrix", the_matrix);
  checks::part("axes", axes);
  checks::part("ties and great numbers", ties_and_great_numbers);
  checks::part("nothing at all", nothing_at_all);
  checks::part("not a number", not_a_number);
  checks::part("random numbers", random_numbers);
  checks::part("labels", labels);
  checks::part("equality", equality);
  return checks::end();
}
