// SPDX-License-Identifier: Apache-2.0
// Arithmetic, comparisons and functions of arrays against the same of plain values: types, operands
// in other layouts, in place, memory in common, what sends nothing, the hermitian flag; iteration
// and text.
#include <cmath>
#include <limits>
#include <numeric>

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
using Complex = std::complex<double>;

const MPI_Comm kWorld = MPI_COMM_WORLD;

template <class T, class E>
constexpr bool gives(const E&) {
  return std::is_same_v<typename E::Value, T>;
}

void result_types() {
  const auto i8 = DistArray<std::int8_t>::arange(kWorld, Shape{2});
  const auto u8 = DistArray<std::uint8_t>::arange(kWorld, Shape{2});
  const auto i32 = DistArray<std::int32_t>::arange(kWorld, Shape{2});
  const auto i64 = DistArray<std::int64_t>::arange(kWorld, Shape{2});
  const auto u64 = DistArray<std::uint64_t>::arange(kWorld, Shape{2});
  const auto f = DistArray<float>::arange(kWorld, Shape{2});
  const auto d = DistArray<double>::arange(kWorld, Shape{2});
  const auto c = DistArray<std::complex<float>>::arange(kWorld, Shape{2});
  const auto b = DistArray<bool>::arange(kWorld, Shape{2});
  EXPECT(gives<std::int16_t>(i8 + u8) && gives<std::int32_t>(u8 * i32) && gives<double>(i64 + u64));
  EXPECT(gives<float>(f + i8) && gives<double>(f + i32) && gives<double>(f * d) &&
         gives<bool>(b + b));
  EXPECT(gives<std::complex<float>>(c * f) && gives<Complex>(c * d) && gives<Complex>(c + i32));
  // Scalars of the same kind or a lower one leave the type.
  EXPECT(gives<float>(f * 2.0) && gives<float>(2 * f) && gives<std::int8_t>(i8 + 1) &&
         gives<double>(i8 + 0.5));
  EXPECT(gives<std::complex<float>>(c * 2.0) && gives<std::complex<float>>(f * Complex(0, 1)) &&
         gives<int>(b + 1));
  EXPECT(gives<double>(i8 / u8) && gives<float>(f / f) && gives<float>(abs(c)) &&
         gives<double>(sqrt(i8)) && gives<bool>(i8 < d));
  EXPECT(refused(ErrorKind::kType, [&] { static_cast<void>(i8 + 300); }));
}

/// 0, 1, 2, ... in one layout and -2, -1.5, -1, ... in another; expressions with them are compared
/// with plain values, and lie as the first one.
struct Pair {
  DistArray<int> a;
  DistArray<double> b;

  Pair(MPI_Comm comm, const Strategy& left, const Strategy& right)
      : a(DistArray<int>::arange(comm, Shape{4, 3}, left)),
        b(DistArray<double>::arange(comm, Shape{4, 3}, right)) {
    b = 0.5 * b - 2;
  }

  template <class Expression, class Plain>
  void check(const Expression& expression, Plain plain) const {
    const DistArray result(expression);
    EXPECT(result.layout() == a.layout());
    const auto full = result.get_full();
    for (Index k = 0; k < 12; ++k) {
      const auto expected = plain(static_cast<double>(k), 0.5 * static_cast<double>(k) - 2);
      EXPECT(full[k] == expected || (full[k] != full[k] && expected != expected));
    }
  }
};

/// Each operator of two arrays in each pair of layouts, against plain values.
void operators() {
  checks::on_every_size([](MPI_Comm comm) {
    const Shape shape{4, 3};
    const std::vector<Strategy> all = strategies(shape, size_of(comm));
    for (const Strategy& left : all) {
      for (const Strategy& right : all) {
        const Pair pair(comm, left, right);
        const auto& [a, b] = pair;
        pair.check(a + b, [](double p, double q) { return p + q; });
        pair.check(a - b * 2, [](double p, double q) { return p - q * 2; });
        pair.check((a + 1) / b + 1, [](double p, double q) { return (p + 1) / q + 1; });
        pair.check(floor_divide(a, b), [](double p, double q) { return std::floor(p / q); });
        pair.check(a % b, [](double p, double q) { return p - q * std::floor(p / q); });
        pair.check(a < b, [](double p, double q) { return p < q; });
        pair.check((a == b) | (a != 3), [](double p, double q) { return p == q || p != 3; });
        pair.check(maximum(a, b), [](double p, double q) { return std::max(p, q); });
        pair.check(hypot(a, b), [](double p, double q) { return std::hypot(p, q); });
        pair.check(pow(a, b), [](double p, double q) { return std::pow(p, q); });
      }
    }
  });
}

/// Operators in one pair of layouts for each: orders where equality is met, scalars on the left of
/// what is not commutative.
void orders_and_sides() {
  checks::on_every_size([](MPI_Comm comm) {
    const std::vector<Strategy> all = strategies({4, 3}, size_of(comm));
    for (std::size_t k = 0; k < all.size(); ++k) {
      const Pair pair(comm, all[k], all[(k + 1) % all.size()]);
      const auto& [a, b] = pair;
      // Equal at 4.
      pair.check(a < b + 4, [](double p, double q) { return p < q + 4; });
      pair.check(a <= b + 4, [](double p, double q) { return p <= q + 4; });
      pair.check(a > b + 4, [](double p, double q) { return p > q + 4; });
      pair.check(a >= b + 4, [](double p, double q) { return p >= q + 4; });
      pair.check((4 <= a) & (a <= 4), [](double p, double) { return p == 4; });
      pair.check((4 > a) | (4 < a), [](double p, double) { return p != 4; });
      // Scalars on the left of what is not commutative.
      pair.check(2 - a, [](double p, double) { return 2 - p; });
      pair.check(a - 7 / (b + 10), [](double p, double q) { return p - 7 / (q + 10); });
      pair.check(floor_divide(7, a + 1), [](double p, double) { return std::floor(7 / (p + 1)); });
      pair.check(7 % (a + 1), [](double p, double) { return std::fmod(7, p + 1); });
      pair.check(pow(2, a), [](double p, double) { return std::pow(2, p); });
      pair.check(1 << a, [](double p, double) { return std::pow(2, p); });
    }
  });
}

void integers() {
  const auto a = DistArray<int>::from_global(kWorld, local<int>({6}, {7, -7, 7, -7, 5, 0}).view());
  const auto b = DistArray<int>::from_global(kWorld, local<int>({6}, {2, 2, -2, -2, 0, 3}).view());
  using Numbers = std::vector<int>;
  EXPECT(is(DistArray<int>(floor_divide(a, b)), {6}, Numbers{3, -4, -4, 3, 0, 0}));
  EXPECT(is(DistArray<int>(a % b), {6}, Numbers{1, 1, -1, -1, 0, 0}));
  EXPECT(is(DistArray<int>(fmod(a, b)), {6}, Numbers{1, -1, 1, -1, 0, 0}));
  EXPECT(is(DistArray<int>(pow(b, 3)), {6}, Numbers{8, 8, -8, -8, 0, 27}));
  EXPECT(is(DistArray<int>(a << 1), {6}, Numbers{14, -14, 14, -14, 10, 0}));
  EXPECT(is(DistArray<int>(a >> 40), {6}, Numbers{0, -1, 0, -1, 0, 0}));
  EXPECT(is(DistArray<int>((a & 3) | (b ^ 1)), {6}, Numbers{3, 3, -1, -1, 1, 2}));
  EXPECT(is(DistArray<int>(~a), {6}, Numbers{-8, 6, -8, 6, -6, -1}));
  EXPECT(is(DistArray<int>(abs(a) - sign(a)), {6}, Numbers{6, 8, 6, 8, 4, 0}));
  EXPECT(is(DistArray<int>(2147483647 + (0 * a + 1)), {6},
            Numbers(6, std::numeric_limits<int>::min())));
  EXPECT(is(DistArray<bool>(a < 4000000000U), {6}, std::vector<bool>(6, true)));
  // On every process alike, also where there are no elements.
  EXPECT(refused(ErrorKind::kArgument, [&] { static_cast<void>(pow(a, -1)); }));
  auto nothing = DistArray<int>::zeros(kWorld, Shape{0});
  EXPECT(refused(ErrorKind::kArgument, [&] { pow_in_place(nothing, -1); }));
  EXPECT(is(DistArray<double>(pow(b, 1.0)), {6}, std::vector<double>{2, 2, -2, -2, 0, 3}));
}

/// What Python and NumPy give, where the quotient is rounded up to a whole number, or lost.
void floor_division() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto x = local<double>({10}, {1.0, -1e-300, 5, -5, 7.5, -7.5, -0.0, 1, 1e308, -3});
  const auto y = local<double>({10}, {0.1, 1e300, -kInfinity, kInfinity, 2, 2, 4, 0, 1e-10, 0});
  const auto a = DistArray<double>::from_global(kWorld, x.view());
  const DistArray<double> quotient =
      floor_divide(a, DistArray<double>::from_global(kWorld, y.view()));
  EXPECT(is(quotient, {10},
            std::vector<double>{9, -1, -1, -1, 3, -4, 0, kInfinity, kInfinity, -kInfinity}));
  EXPECT(std::signbit(quotient.get_full()[6]));
  EXPECT(is(DistArray<double>(floor_divide(a, 0 * a + kInfinity)), {10},
            std::vector<double>{0, -1, 0, -1, 0, -1, 0, 0, 0, -1}));
  auto b = DistArray<float>::full(kWorld, Shape{2}, 1);
  floor_divide_in_place(b, 0.1F);
  EXPECT(is(b, {2}, std::vector<float>{9, 9}));
}

/// Scalars of a kind take the array's type in comparisons, too; integers are compared as they are.
void comparisons() {
  const auto f = DistArray<float>::full(kWorld, Shape{2}, 0.1F);
  EXPECT(all(f == 0.1) && !any(f != 0.1) && all(0.1 == f) && all(f <= 0.1) && !any(f > 0.1) &&
         all(f < 0.2));
  const DistArray<std::complex<float>> c = f * std::complex<float>(1, 1);
  EXPECT(all(c == Complex(0.1, 0.1)) && !any(c == 0.1));
  const auto great = DistArray<float>::full(kWorld, Shape{2}, 16777216);
  EXPECT(!any(great == 16777217) && all(great < 16777217) &&
         all(DistArray<int>::ones(kWorld, Shape{2}) < 1.5));
  EXPECT(all(f == 0.1F) && all(apply([](float x, double y) { return x != y; }, f, 0.1)));
}

void in_place() {
  checks::on_every_size([](MPI_Comm comm) {
    const Shape shape{4, 3};
    for (const Strategy& left : strategies(shape, size_of(comm))) {
      for (const Strategy& right : strategies(shape, size_of(comm))) {
        auto a = DistArray<int>::arange(comm, shape, left);
        const auto b = DistArray<double>::full(comm, shape, 1.5, right);
        const LayoutPtr layout = a.layout();
        const int* const memory = a.data();
        a += b;  // 1.5 and so on, as integers
        a *= 2;
        a -= a / 2;
        EXPECT(a.layout() == layout && a.data() == memory);
        EXPECT(is(a, shape, std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
        a = a + a;
        a %= 5;
        EXPECT(is(a, shape, std::vector<int>{2, 4, 1, 3, 0, 2, 4, 1, 3, 0, 2, 4}));
        floor_divide_in_place(a, 2);
        pow_in_place(a, 2);
        EXPECT(is(a, shape, std::vector<int>{1, 4, 0, 1, 0, 1, 4, 0, 1, 0, 1, 4}));
        a <<= 2;
        a |= 3;
        a ^= 5;
        EXPECT(is(a, shape, std::vector<int>{2, 22, 6, 2, 6, 2, 22, 6, 2, 6, 2, 22}));
        a &= DistArray<int>::full(comm, shape, 6, right);
        a >>= 1;
        EXPECT(is(a, shape, std::vector<int>{1, 3, 3, 1, 3, 1, 3, 3, 1, 3, 1, 3}));
        a /= 2;  // 0.5 and 1.5, as integers
        EXPECT(is(a, shape, std::vector<int>{0, 1, 1, 0, 1, 0, 1, 1, 0, 1, 0, 1}));
        auto c = DistArray<double>::arange(comm, shape, left);
        c /= b + 0.5;
        EXPECT(is(c, shape, std::vector<double>{0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5}));
        EXPECT(a.layout() == layout && a.data() == memory);
      }
    }
  });
}

void global_data_and_temporaries() {
  checks::on_every_size([](MPI_Comm comm) {
    const LocalArray<int> data = local<int>({3, 2}, {1, 2, 3, 4, 5, 6});
    for (const Strategy& strategy : strategies({3, 2}, size_of(comm))) {
      const auto a = DistArray<int>::arange(comm, Shape{3, 2}, strategy);
      EXPECT(is(DistArray<int>(a * data.view() + data.view()), {3, 2},
                std::vector<int>{1, 4, 9, 16, 25, 36}));
      // A label that one process has, and the data do not, stops all.
      std::vector<std::vector<Index>> labels(static_cast<std::size_t>(size_of(comm)));
      for (std::size_t part = 0; part < labels.size(); ++part)
        labels[part] = {static_cast<Index>(part)};
      labels.back().front() = 99;
      const auto l = DistArray<int>::zeros(
          comm, Shape{size_of(comm)},
          Distribution::make(ProcessGrid({size_of(comm)}),
                             {{DimMap::unstructured(std::move(labels), true), 0}}));
      const LocalArray<int> ones(Shape{size_of(comm)}, 1);
      EXPECT(refused(ErrorKind::kKey, [&] { static_cast<void>(DistArray<int>(l + ones.view())); }));
      EXPECT(
          is(DistArray<int>(data.view() - 2 * a), {3, 2}, std::vector<int>{1, 0, -1, -2, -3, -4}));
      EXPECT(is(DistArray<double>(data.view() / (a + 1)), {3, 2}, std::vector<double>(6, 1.0)));
      // A temporary array lives as long as the expression.
      const auto expression = a + DistArray<int>::ones(comm, Shape{3, 2}, strategy);
      EXPECT(is(DistArray<int>(expression * 1), {3, 2}, std::vector<int>{1, 2, 3, 4, 5, 6}));
    }
  });
}

void memory_in_common() {
  // Two arrays that are shifted by one element in the same memory.
  std::vector<double> memory{0, 1, 2, 3, 4};
  auto low = DistArray<double>::from_local(kWorld, StridedView<double>(memory.data(), Shape{4}),
                                           Checks::kOn, CopyMode::kAvoid);
  auto high = DistArray<double>::from_local(
      kWorld, StridedView<double>(memory.data() + 1, Shape{4}), Checks::kOn, CopyMode::kAvoid);
  high = low + 0;
  EXPECT((memory == std::vector<double>{0, 0, 1, 2, 3}));
  low += high;
  EXPECT((memory == std::vector<double>{0, 1, 3, 5, 3}));
  // The same by ghosts on different sides.
  const auto with_ghosts = [](Ghosts ghosts) {
    const int processes = checks::size;
    return DistArray<double>::empty(kWorld, Shape{4 * processes},
                                    make_distribution(Shape{4 * processes}, processes,
                                                      {.kinds = "e", .ghosts = {{0, ghosts}}}))
        .layout();
  };
  memory = {0, 1, 2, 3, 4};
  const DistArray<double> lower(with_ghosts({0, 1}), Storage<double>(memory.data()));
  DistArray<double> upper(with_ghosts({1, 0}), Storage<double>(memory.data()));
  upper = lower + 0;
  EXPECT((memory == std::vector<double>{0, 0, 1, 2, 3}));
}

void aligned_arrays_send_nothing() {
  auto a = DistArray<double>::ones(kWorld, Shape{100});
  const auto b = DistArray<double>::ones(kWorld, Shape{100});
  // Process 0 alone: it would wait for the others if there were a message to wait for. Ids are
  // counted alike on all.
  if (checks::rank == 0) {
    for (int again = 0; again < 100; ++again) a += b * 2 + exp(a * 0) - 1;
  }
  EXPECT(checks::rank != 0 || a.local_size() == 0 || a.data()[0] == 201);
}

void shapes_that_differ() {
  checks::on(2, [](MPI_Comm comm) {
    const auto a = DistArray<int>::arange(comm, Shape{4});
    const auto b = DistArray<int>::full(comm, Shape{2}, 10, kNot);
    // 2 elements on each process, here and there.
    EXPECT(is(DistArray<int>(a + b), {4}, std::vector<int>{10, 11, 12, 13}));
    EXPECT(refused(ErrorKind::kShape, [&] {
      static_cast<void>(DistArray<int>(a + DistArray<int>::ones(comm, Shape{5})));
    }));
    MPI_Comm other = MPI_COMM_NULL;
    MPI_Comm_dup(comm, &other);
    EXPECT(refused(ErrorKind::kLayout, [&] {
      static_cast<void>(DistArray<int>(a + DistArray<int>::ones(other, Shape{4})));
    }));
    MPI_Comm_free(&other);
  });
}

template <class T, class Function, class Plain>
void compare(const std::vector<T>& values, Function function, Plain plain) {
  const Shape shape{static_cast<Index>(values.size())};
  const auto full =
      DistArray(function(DistArray<T>::from_global(kWorld, local(shape, values).view())))
          .get_full();
  for (std::size_t k = 0; k < values.size(); ++k) {
    const auto expected = plain(values[k]);
    const auto found = full[static_cast<Index>(k)];
    EXPECT(found == expected || (found != found && expected != expected));
  }
}

#define COMPARE(values, name, plain) \
  compare((values), [](const auto& a) { return name(a); }, [](const auto& x) { return plain(x); })

void functions() {
  const std::vector<double> reals{-2.5, -0.5, 0.0, 0.25, 1.5, 2.5, 700.0};
  COMPARE(reals, exp, std::exp);
  COMPARE(reals, expm1, std::expm1);
  COMPARE(reals, log, std::log);
  COMPARE(reals, log10, std::log10);
  COMPARE(reals, log1p, std::log1p);
  COMPARE(reals, sqrt, std::sqrt);
  COMPARE(reals, sin, std::sin);
  COMPARE(reals, cos, std::cos);
  COMPARE(reals, tan, std::tan);
  COMPARE(reals, arcsin, std::asin);
  COMPARE(reals, arccos, std::acos);
  COMPARE(reals, arctan, std::atan);
  COMPARE(reals, sinh, std::sinh);
  COMPARE(reals, cosh, std::cosh);
  COMPARE(reals, tanh, std::tanh);
  COMPARE(reals, arcsinh, std::asinh);
  COMPARE(reals, arccosh, std::acosh);
  COMPARE(reals, arctanh, std::atanh);
  COMPARE(reals, rint, std::rint);
  COMPARE(reals, abs, std::abs);
  COMPARE(reals, reciprocal, 1.0 /);
  COMPARE(reals, -, -);
  COMPARE(reals, +, +);
  compare(
      reals, [](const auto& a) { return square(a); }, [](double x) { return x * x; });
  compare(
      reals, [](const auto& a) { return arctan2(a, 2); },
      [](double x) { return std::atan2(x, 2.0); });
  const std::vector<Complex> numbers{{1, 2}, {-1, 0.5}, {0, -3}};
  COMPARE(numbers, exp, std::exp);
  COMPARE(numbers, sqrt, std::sqrt);
  COMPARE(numbers, abs, std::abs);
  COMPARE(numbers, conj, std::conj);
  COMPARE(numbers, real, std::real);
  COMPARE(numbers, imag, std::imag);
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> odd{1, nan, infinity, -infinity};
  COMPARE(odd, isnan, std::isnan);
  COMPARE(odd, isinf, std::isinf);
  COMPARE(odd, isfinite, std::isfinite);
  COMPARE(odd, sign, [](double x) { return x != x ? x : x > 0 ? 1.0 : -1.0; });
  const double most = std::numeric_limits<double>::max();
  EXPECT(is(
      DistArray<double>(nan_to_num(DistArray<double>::from_global(kWorld, local({4}, odd).view()))),
      {4}, {1.0, 0.0, most, -most}));
  const auto c = DistArray<Complex>::from_global(
      kWorld, local<Complex>({3}, {{1, 0}, {0, 1}, {nan, 0}}).view());
  EXPECT(is(DistArray<bool>(isreal(c)), {3}, std::vector<bool>{true, false, true}));
  EXPECT(is(DistArray<bool>(iscomplex(c)), {3}, std::vector<bool>{false, true, false}));
  EXPECT(is(DistArray<bool>(isnan(c)), {3}, std::vector<bool>{false, false, true}));
}

/// One of the operands is an array.
template <class... Operands>
concept Applicable = requires(double (*function)(double, double), Operands... operands) {
  impishim::darray::apply(function, operands...);
};
static_assert(Applicable<DistArray<double>, double> && !Applicable<double, double>);

void user_functions() {
  const auto a = DistArray<int>::arange(kWorld, Shape{5});
  EXPECT(is(apply_scalar_function(a, [](int x) { return x * 0.5; }), {5},
            std::vector<double>{0, 0.5, 1, 1.5, 2}));
  EXPECT(is(apply_scalar_function<int>(a, [](int x) { return x * 0.5; }), {5},
            std::vector<int>{0, 0, 1, 1, 2}));
  auto b = a;
  apply_scalar_function_in_place(b, [](int x) { return 10 - x; });
  EXPECT(is(b, {5}, std::vector<int>{10, 9, 8, 7, 6}));
  EXPECT(is(DistArray<int>(apply([](int x, int y, int z) { return x * y + z; }, a, b, 1)), {5},
            std::vector<int>{1, 10, 17, 22, 25}));
  apply_generator(b, [](const Shape& shape) { return LocalArray<int>(shape, 4); });
  EXPECT(is(b, {5}, std::vector<int>(5, 4)));
  EXPECT(!(a == std::nullopt));
}

void hermitian() {
  auto real = DistArray<double>::full(kWorld, Shape{3}, 2.0);
  auto complex = DistArray<Complex>::arange(kWorld, Shape{3});
  EXPECT(real.hermitian() && !complex.hermitian());
  complex.set_hermitian(true);
  EXPECT(DistArray(complex * 2).hermitian() && DistArray(complex + real).hermitian() &&
         DistArray(exp(log(complex + 1))).hermitian());
  EXPECT(!DistArray(complex * Complex(0, 1)).hermitian() &&
         !DistArray(complex == complex).hermitian());
  EXPECT(!DistArray(real + DistArray<double>::arange(kWorld, Shape{3})).hermitian());
  complex += Complex(0, 1);
  EXPECT(!complex.hermitian());
}

/// Whole powers of complex numbers are products: exact, real where the base is real, and defined
/// for zero.
void complex_powers() {
  auto base = DistArray<Complex>::arange(kWorld, Shape{4});
  base = base - 2;  // -2, -1, 0, 1
  const auto is_power = [&](const auto& exponent, const std::vector<Complex>& expected) {
    return is(DistArray<Complex>(pow(base, exponent)), {4}, expected);
  };
  EXPECT(is_power(2, {4, 1, 0, 1}) && is_power(3.0, {-8, -1, 0, 1}) && is_power(0, {1, 1, 1, 1}));
  const DistArray<Complex> inverse = pow(base + 3, -2);  // of 1, 2, 3, 4
  EXPECT(get_item(inverse, {1}) == Complex(0.25) && get_item(inverse, {3}) == Complex(0.0625));
  const DistArray<Complex> quotient = pow(base, -1);
  EXPECT(get_item(quotient, {0}) == Complex(-0.5) && std::isnan(get_item(quotient, {2}).real()));
  const DistArray<Complex> root = pow(base, 0.5);
  EXPECT(std::abs(get_item(root, {1}) - Complex(0, 1)) < 1e-15 &&
         get_item(root, {2}) == Complex(0));

  base.set_hermitian(true);
  const auto kept = [](const auto& expression) { return DistArray(expression).hermitian(); };
  EXPECT(kept(pow(base, 2)) && kept(pow(base, -3)) && kept(pow(base, 2.0)) && kept(pow(2, base)));
  // (-1)^0.5 is not real, and so is no value of an array that carries the flag.
  EXPECT(!kept(pow(base, 0.5)) && !kept(pow(base, -1.5)) && !kept(pow(-2.0, base)) &&
         !kept(pow(base, base)));
  EXPECT(!kept(sqrt(base)) && !kept(arcsin(base)) && !kept(arccosh(base)) && kept(exp(base)));
  const auto whole = DistArray<int>::full(kWorld, Shape{4}, 3);
  EXPECT(kept(pow(base, whole)));
  const auto real = DistArray<double>::full(kWorld, Shape{4}, -2.0);
  EXPECT(kept(pow(real, 0.5)) && kept(sqrt(real)));
  EXPECT(pow_in_place(base, 2).hermitian() && !pow_in_place(base, 0.5).hermitian());
}

void iteration() {
  checks::on_every_size([](MPI_Comm comm) {
    for (const Strategy& strategy : strategies({5, 3}, size_of(comm))) {
      const auto array = DistArray<int>::arange(comm, Shape{5, 3}, strategy);
      std::vector<int> seen;
      for (const int value : elements(array)) seen.push_back(value);
      std::vector<int> all(15);
      std::iota(all.begin(), all.end(), 0);
      EXPECT(seen == all);
      for (const int value : elements(array)) {
        if (value == 7) break;  // all processes stop together
      }
    }
    for (const int value : elements(DistArray<int>::empty(comm, Shape{0}))) EXPECT(value != value);
    for (const int value : elements(DistArray<int>::empty(comm, Shape{2, 0})))
      EXPECT(value != value);
    Index count = 0;
    for (const double value : elements(DistArray<double>::full(comm, Shape{}, 3.5)))
      count += value == 3.5 ? 1 : 100;
    EXPECT(count == 1);
  });
}

void text() {
  const auto array = DistArray<int>::arange(kWorld, Shape{2, 3});
  std::ostringstream whole;
  to_stream(whole, array);
  EXPECT(whole.str() == (checks::rank == 0 ? "[[0, 1, 2], [3, 4, 5]]" : ""));
  std::ostringstream piece;
  piece << DistArray<bool>::full(kWorld, Shape{2}, true, kNot);
  EXPECT(piece.str().find("array of shape (2), not; process") != std::string::npos &&
         piece.str().ends_with("has [true, true]"));
}

}  // namespace
}  // namespace impishim::darray

int main(int argc, char** argv) {
  using namespace impishim::darray;
  checks::begin(&argc, &argv);
  checks::part("result types", result_types);
  checks::part("operators", operators);
  checks::part("orders and sides", orders_and_sides);
  checks::part("integers", integers);
  checks::part("floor division", floor_division);
  checks::part("comparisons", comparisons);
  checks::part("in place", in_place);
  checks::part("global data and temporaries", global_data_and_temporaries);
  checks::part("memory in common", memory_in_common);
  checks::part("aligned arrays send nothing", aligned_arrays_send_nothing);
  checks::part("shapes that differ", shapes_that_differ);
  checks::part("functions", functions);
  checks::part("user's functions", user_functions);
  checks::part("hermitian", hermitian);
  checks::part("complex powers", complex_powers);
  checks::part("iteration", iteration);
  checks::part("text", text);
  return checks::end();
}
