// SPDX-License-Identifier: Apache-2.0
#include "tests/mpi/darray/contracted_types.hpp"

#include <cmath>
#include <limits>
#include <memory>

#include "darray/index/make_distribution.hpp"
#include "darray/plan/reduce/reductions.hpp"
#include "tests/mpi/darray/checks.hpp"
#include "tests/mpi/darray/owned_pieces.hpp"

namespace checks {
namespace {

using namespace impishim::darray;
using Values = std::vector<Index>;

const MPI_Comm kWorld = MPI_COMM_WORLD;

template <class T>
void check_type() {
  const DistributionPtr layout = make_distribution(std::vector<Index>{40}, size);
  std::vector<T> data;
  for (const Owned& element : owned_elements(*layout, rank))
    data.push_back(static_cast<T>(element.number % 5));
  EXPECT(sum(kWorld, *layout, data.data()) == static_cast<SumOf<T>>(80));
  EXPECT(count(kWorld, *layout, data.data()) == 32 && any(kWorld, *layout, data.data()) &&
         !all(kWorld, *layout, data.data()));
  EXPECT(std::abs(mean(kWorld, *layout, data.data()) - 2.0) < 1e-14);
  EXPECT(std::abs(variance(kWorld, *layout, data.data()) - 2) < 1e-14);
  if constexpr (!detail::is_complex<T>) {
    EXPECT(maximum(kWorld, *layout, data.data()) == T(4) &&
           minimum(kWorld, *layout, data.data()) == T(0));
    EXPECT(max_location(kWorld, *layout, data.data()).indices[0] == 4);
  } else {
    EXPECT(refused(ErrorKind::kType, [&] { maximum(kWorld, *layout, data.data()); }));
  }
  EXPECT(dot(kWorld, *layout, data.data(), *layout, data.data()) == (DotOf<T, T>(240)));
}

}  // namespace

void contracted_types() {
  check_type<std::int8_t>();
  check_type<std::int16_t>();
  check_type<std::int32_t>();
  check_type<std::int64_t>();
  check_type<std::uint8_t>();
  check_type<std::uint16_t>();
  check_type<std::uint32_t>();
  check_type<std::uint64_t>();
  check_type<float>();
  check_type<double>();
  check_type<long double>();
  check_type<std::complex<float>>();
  check_type<std::complex<double>>();

  const DistributionPtr layout = make_distribution(std::vector<Index>{4}, size, {.kinds = "c"});
  const auto flags = std::make_unique<bool[]>(4);
  for (Index k = 0; k < layout->owned_size(rank); ++k) flags[static_cast<std::size_t>(k)] = true;
  EXPECT(sum(kWorld, *layout, flags.get()) == 4 && minimum(kWorld, *layout, flags.get()));
  EXPECT(dot(kWorld, *layout, flags.get(), *layout, flags.get()));
  EXPECT(mean(kWorld, *layout, flags.get()) == 1.0);

  using Complex = std::complex<double>;
  const auto turned =
      piece_of(*layout, rank, std::vector<Complex>{{0, 1}, {0, 2}, {1, 0}, {0, 0}}, Complex());
  EXPECT(vdot(kWorld, *layout, turned.data(), *layout, turned.data()) == Complex(6, 0));
  EXPECT(dot(kWorld, *layout, turned.data(), *layout, turned.data()) == Complex(-4, 0));
  EXPECT(mean(kWorld, *layout, turned.data()) == Complex(0.25, 0.75));

  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto holes = piece_of(*layout, rank, std::vector<double>{3, nan, 1, nan});
  EXPECT(std::isnan(minimum(kWorld, *layout, holes.data())) &&
         std::isnan(maximum(kWorld, *layout, holes.data())));
  EXPECT(max_location(kWorld, *layout, holes.data()).indices[0] == 1);
  double found = 0;
  reduce(kWorld, *layout, holes.data(), reduce_operator(Reducer::kNanMin, Scalar::kDouble), &found);
  EXPECT(found == 1);
  const auto only = piece_of(*layout, rank, std::vector<double>(4, nan));
  reduce(kWorld, *layout, only.data(), reduce_operator(Reducer::kNanMax, Scalar::kDouble), &found);
  EXPECT(std::isnan(found));
}

void dot_products() {
  static_assert(std::is_same_v<DotOf<std::int8_t, std::int8_t>, std::int64_t>);
  static_assert(std::is_same_v<DotOf<bool, std::int8_t>, std::int64_t>);
  static_assert(std::is_same_v<DotOf<float, float>, double>);
  static_assert(std::is_same_v<DotOf<int, double>, double>);
  static_assert(std::is_same_v<DotOf<long double, int>, long double>);
  static_assert(std::is_same_v<DotOf<std::complex<float>, int>, std::complex<double>>);
  static_assert(std::is_same_v<DotOf<bool, bool>, bool>);
  const DistributionPtr plain = make_distribution(std::vector<Index>{4}, size);
  const DistributionPtr with_ghosts =
      make_distribution(std::vector<Index>{4}, size, {.kinds = "b", .ghosts = {{0, {1, 2}}}});
  const auto left = piece_of(*with_ghosts, rank, std::vector<int>{1, 2, 3, 4});
  const auto right = piece_of(*plain, rank, std::vector<double>{0.5, 1.5, -2, 4});
  EXPECT(dot(kWorld, *with_ghosts, left.data(), *plain, right.data()) == 13.5);
  EXPECT(dot(kWorld, *plain, right.data(), *with_ghosts, left.data()) == 13.5);
  using Complex = std::complex<float>;
  const auto turned = piece_of(*plain, rank, std::vector<Complex>{{0, 1}, {1, 0}, {0, 0}, {0, -1}});
  EXPECT(dot(kWorld, *with_ghosts, left.data(), *plain, turned.data()) ==
         std::complex<double>(2, -3));
  EXPECT(vdot(kWorld, *plain, turned.data(), *with_ghosts, left.data()) ==
         std::complex<double>(2, 3));
  const auto meet = [](const std::vector<char>& one, const std::vector<char>& other) {
    const DistributionPtr layout =
        make_distribution(std::vector<Index>{static_cast<Index>(one.size())}, size, {.kinds = "c"});
    const MaskValues mine(aligned(*layout, rank, one));
    const MaskValues theirs(aligned(*layout, rank, other));
    return dot(kWorld, *layout, std::span<const bool>(mine).data(), *layout,
               std::span<const bool>(theirs).data());
  };
  EXPECT(meet({1, 0, 1, 0}, {0, 1, 1, 0}) && !meet({1, 0}, {0, 1}));
}

void means() {
  const DistributionPtr layout = make_distribution(std::vector<Index>{4}, size, {.kinds = "c"});
  EXPECT(mean(kWorld, *layout, piece_of(*layout, rank, Values{1, 2, 2, 0}).data()) == 1.25);
  const MaskValues flags(aligned(*layout, rank, std::vector<char>{1, 0, 1, 1}));
  EXPECT(mean(kWorld, *layout, std::span<const bool>(flags).data()) == 0.75);
}

}  // namespace checks
