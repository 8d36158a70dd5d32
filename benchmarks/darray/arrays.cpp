// SPDX-License-Identifier: Apache-2.0
/// What arrays cost beside loops over plain memory: PT-16, PT-17 and PT-18.
#include <array>
#include <cmath>
#include <string>

#include "benchmarks/darray/matrix.hpp"
#include "darray/array.hpp"
#include "darray/plan/reduce/reductions.hpp"

namespace {

using namespace bench;
using impishim::darray::Checks;
using impishim::darray::DistArray;
using impishim::darray::kEqual;

constexpr Index kFew = 64;  // elements of each rank: so few that overhead shows

/// The same loop for all: not inlined, so that no contestant knows more than the others.
[[gnu::noinline]] void add_loop(double* a, const double* b, Index count) {
  for (Index k = 0; k < count; ++k) a[k] += b[k];
}

[[gnu::noinline]] void combine_loop(double* c, const double* a, const double* b, Index count) {
  for (Index k = 0; k < count; ++k) c[k] = a[k] + 2.0 * b[k];
}

[[gnu::noinline]] double sum_loop(const double* a, Index count) {
  double sum = 0;
  for (Index k = 0; k < count; ++k) sum += a[k];
  return sum;
}

/// What one would write for speed: partial sums, of which a processor adds several at once.
[[gnu::noinline]] double sum_in_parts(const double* a, Index count) {
  constexpr Index kParts = 16;
  std::array<double, kParts> parts{};
  Index k = 0;
  for (; k + kParts <= count; k += kParts) {
    for (Index part = 0; part < kParts; ++part)
      parts[static_cast<std::size_t>(part)] += a[k + part];
  }
  double sum = 0;
  for (const double part : parts) sum += part;
  return sum + sum_loop(a + k, count - k);
}

DistArray<double> numbered_array(const Setting& setting, Index of_each) {
  return DistArray<double>::arange(setting.comm, std::array{of_each * setting.size});
}

void overheads(const Setting& setting) {
  const std::array<Index, 1> shape{kFew * setting.size};
  const DistArray<double> kept = numbered_array(setting, kFew);
  Contest creation(setting, "creation");
  creation.add("empty", [&] {
    keep(*DistArray<double>::empty(setting.comm, shape, kEqual, Checks::kOff).data());
  });
  creation.add("empty, checked",
               [&] { keep(*DistArray<double>::empty(setting.comm, shape, kEqual).data()); });
  creation.add("copy_empty", [&] { keep(*kept.copy_empty().data()); });
  creation.measure();
}

/// a += b on so many elements of each rank.
void addition(const Setting& setting, const std::string& title, Index of_each) {
  DistArray<double> a = numbered_array(setting, of_each);
  const DistArray<double> b = numbered_array(setting, of_each);
  const Contest::Check check{[&] { a.fill(-1); },
                             [&] {
                               bool right = true;
                               for (Index k = 0; k < of_each; ++k) {
                                 right &= a.data()[k] ==
                                          static_cast<double>(setting.rank * of_each + k - 1);
                               }
                               return right;
                             }};
  Contest contest(setting, title);
  contest.add(
      "darray", [&] { a += b; }, check);
  contest.add(
      "loop", [&] { add_loop(a.data(), b.data(), of_each); }, check);
  contest.measure();
}

void combination(const Setting& setting, Index of_each) {
  const DistArray<double> a = numbered_array(setting, of_each);
  const DistArray<double> b = numbered_array(setting, of_each);
  DistArray<double> c = a.copy_empty();
  const Contest::Check check{[&] { c.fill(-1); },
                             [&] {
                               bool right = true;
                               for (Index k = 0; k < of_each; ++k) {
                                 right &= c.data()[k] ==
                                          static_cast<double>(3 * (setting.rank * of_each + k));
                               }
                               return right;
                             }};
  Contest contest(setting, "c = a + 2 b");
  contest.add(
      "darray", [&] { c = a + 2.0 * b; }, check);
  contest.add(
      "loop", [&] { combine_loop(c.data(), a.data(), b.data(), of_each); }, check);
  contest.measure();
}

void summation(const Setting& setting, Index whole) {
  const Index of_each = whole / setting.size;
  const DistArray<double> a = numbered_array(setting, of_each);
  const auto all = static_cast<double>(of_each) * setting.size;
  double sum = 0;
  // All partial sums of these numbers are exact.
  const Contest::Check check{[&] { sum = -1; }, [&] { return sum == all * (all - 1) / 2; }};
  const auto native = [&](double local) {
    MPI_Allreduce(&local, &sum, 1, MPI_DOUBLE, MPI_SUM, setting.comm);
  };
  Contest contest(setting, "sum");
  contest.add(
      "darray", [&] { sum = impishim::darray::sum(setting.comm, a.distribution(), a.data()); },
      check);
  contest.add(
      "loop", [&] { native(sum_loop(a.data(), of_each)); }, check);
  contest.add(
      "parts", [&] { native(sum_in_parts(a.data(), of_each)); }, check);
  contest.measure();
}

}  // namespace

int main(int argc, char** argv) {
  const Setting setting = begin(argc, argv);
  if (setting.wants({"PT-16"})) {
    overheads(setting);
    addition(setting, "a += b, few", kFew);
  }
  if (setting.wants({"PT-17"})) {
    addition(setting, "a += b", setting.extent(1 << 16));
    combination(setting, setting.extent(1 << 16));
  }
  if (setting.wants({"PT-18"})) summation(setting, setting.extent(1 << 20));
  end(setting);
}
