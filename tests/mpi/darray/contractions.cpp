// SPDX-License-Identifier: Apache-2.0
// Reductions, extremes with their places, and scans, against serial ones, for random layouts, axes
// and masks.
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>

#include "darray/index/make_distribution.hpp"
#include "darray/plan/gather/broadcast.hpp"
#include "darray/plan/reduce/reductions.hpp"
#include "darray/plan/reduce/scan.hpp"
#include "tests/mpi/darray/checks.hpp"
#include "tests/mpi/darray/contracted_types.hpp"
#include "tests/mpi/darray/owned_pieces.hpp"
#include "tests/mpi/darray/user_operators.hpp"
#include "tests/unit/darray/random_layout.hpp"

namespace {

using namespace impishim::darray;
using checks::aligned;
using checks::MaskValues;
using checks::piece_of;
using checks::rank;
using impishim_test::Chance;
using impishim_test::flat;
using impishim_test::random_layout;
using impishim_test::random_shape;
using impishim_test::tuple;
using Values = std::vector<Index>;

const MPI_Comm kWorld = MPI_COMM_WORLD;

/// A whole array, a layout, axes to be reduced and a mask: the same on all ranks.
struct Case {
  DistributionPtr layout;
  Values whole;
  std::vector<int> axes;
  std::vector<char> mask;
  bool masked = false;
  std::vector<Index> result_shape;

  Case(Chance& chance, Index most) {
    const std::vector<Index> shape = random_shape(chance, 4, most);
    layout = random_layout(chance, shape, checks::size);
    masked = chance.once_in(2);
    for (Index k = 0; k < layout->size(); ++k) {
      whole.push_back(chance.number(-4, 4));
      mask.push_back(!masked || !chance.once_in(3) ? 1 : 0);
    }
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (chance.once_in(2)) axes.push_back(static_cast<int>(axis));
    }
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (!reduced(axis)) result_shape.push_back(shape[axis]);
    }
    chance.shuffle(axes);
  }

  [[nodiscard]] bool reduced(std::size_t axis) const {
    return std::find(axes.begin(), axes.end(), static_cast<int>(axis)) != axes.end();
  }
  [[nodiscard]] MaskValues mine() const {
    return MaskValues(masked ? aligned(*layout, rank, mask) : std::vector<char>());
  }
  [[nodiscard]] std::size_t results() const {
    return static_cast<std::size_t>(
        std::accumulate(result_shape.begin(), result_shape.end(), Index{1}, std::multiplies<>()));
  }
  /// Whether this is the array's layout without the axes that are reduced, as far as this rank can
  /// see.
  [[nodiscard]] bool leaves(const Distribution& result) const {
    const std::vector<Index> owned = layout->owned_shape(rank);
    std::vector<Index> kept;
    for (std::size_t axis = 0; axis < owned.size(); ++axis) {
      if (!reduced(axis)) kept.push_back(owned[axis]);
    }
    return result.shape() == result_shape && result.is_member(rank) == layout->is_member(rank) &&
           result.owned_shape(rank) == kept && !result.has_ghosts();
  }
  /// The result that an element is part of.
  [[nodiscard]] std::size_t result_of(Index number) const {
    const std::vector<Index> indices = tuple(number, layout->shape());
    std::vector<Index> kept;
    for (std::size_t axis = 0; axis < indices.size(); ++axis) {
      if (!reduced(axis)) kept.push_back(indices[axis]);
    }
    return static_cast<std::size_t>(flat(kept, result_shape));
  }
};

template <class R, class Operation>
std::vector<R> serial(const Case& now, R unit, Operation operation) {
  std::vector<R> results(now.results(), unit);
  for (Index k = 0; k < now.layout->size(); ++k) {
    R& result = results[now.result_of(k)];
    if (now.mask[static_cast<std::size_t>(k)] != 0)
      result = operation(result, now.whole[static_cast<std::size_t>(k)]);
  }
  return results;
}

template <class R>
void compare(const Case& now, ReducePlan& plan, const std::vector<R>& expected, bool split) {
  EXPECT(now.leaves(*plan.result()));
  const Values data = piece_of(*now.layout, rank, now.whole);
  const auto count = static_cast<std::size_t>(plan.result()->local_size(rank));
  const auto found = std::make_unique<R[]>(count);
  const MaskValues mask = now.mine();
  if (split) {
    plan.start(data.data(), found.get(), mask);
    while (!plan.test()) {
    }
  } else {
    plan.execute(data.data(), found.get(), mask);
  }
  const std::vector<R> mine = piece_of(*plan.result(), rank, expected);
  for (std::size_t k = 0; k < count; ++k) EXPECT(found[k] == mine[k]);
}

void over_random_axes() {
  Chance chance(3);
  for (int number = 0; number < 120; ++number) {
    const Case now(chance, 6);
    const auto plan = [&](Reducer reducer) {
      return ReducePlan(kWorld, *now.layout, now.axes, reduce_operator(reducer, Scalar::kInt64));
    };
    ReducePlan sums = plan(Reducer::kSum);
    const auto expected = serial<Index>(now, 0, [](Index a, Index b) { return a + b; });
    compare(now, sums, expected, false);
    compare(now, sums, expected, true);
    ReducePlan products = plan(Reducer::kProduct);
    compare(now, products,
            serial<Index>(now, 1,
                          [](Index a, Index b) {
                            return static_cast<Index>(static_cast<std::uint64_t>(a) *
                                                      static_cast<std::uint64_t>(b));
                          }),
            number % 2 == 0);
    ReducePlan some = plan(Reducer::kAny);
    compare(
        now, some,
        serial<char>(now, 0, [](char a, Index b) { return static_cast<char>(a != 0 || b != 0); }),
        false);
    ReducePlan every = plan(Reducer::kAll);
    compare(
        now, every,
        serial<char>(now, 1, [](char a, Index b) { return static_cast<char>(a != 0 && b != 0); }),
        true);
    ReducePlan counts = plan(Reducer::kCount);
    compare(now, counts,
            serial<Index>(now, 0, [](Index a, Index b) { return a + (b != 0 ? 1 : 0); }), false);
  }
}

// Extremes have no value for no elements: an error on the ranks that share such a result, and no
// other.
void extremes() {
  Chance chance(4);
  constexpr Index kNone = std::numeric_limits<Index>::max();
  for (int number = 0; number < 150; ++number) {
    Case now(chance, 5);
    if (number % 3 == 0) now.axes.clear();
    if (number % 3 == 0) now.result_shape = now.layout->shape();
    const auto smallest =
        serial<Index>(now, kNone, [](Index a, Index b) { return std::min(a, b); });
    std::vector<Index> places(now.results(), kNone);
    for (Index k = 0; k < now.layout->size(); ++k) {
      const auto result = now.result_of(k);
      const auto at = static_cast<std::size_t>(k);
      if (now.mask[at] != 0 && now.whole[at] == smallest[result])
        places[result] = std::min(places[result], k);
    }
    LocatePlan plan(kWorld, *now.layout, now.axes, Scalar::kInt64, Extreme::kMin);
    EXPECT(now.leaves(*plan.result()));
    const Values data = piece_of(*now.layout, rank, now.whole);
    const auto count = static_cast<std::size_t>(plan.result()->local_size(rank));
    Values values(count);
    std::vector<Values> indices(now.axes.size(), Values(count));
    std::vector<Index*> buffers;
    for (Values& list : indices) buffers.push_back(list.data());
    if (std::find(smallest.begin(), smallest.end(), kNone) != smallest.end()) {
      // Which of several results are refused depends on the layout: one is by every rank that has
      // it.
      if (now.results() == 1) {
        const bool is_refused = checks::refused(ErrorKind::kArgument, [&] {
          plan.execute(data.data(), values.data(), buffers, now.mine());
        });
        EXPECT(is_refused || plan.result()->owned_size(rank) != 1);
      }
      continue;
    }
    plan.execute(data.data(), values.data(), buffers, now.mine());
    EXPECT(values == piece_of(*plan.result(), rank, smallest));
    const Values mine = piece_of(*plan.result(), rank, places);
    for (std::size_t k = 0; k < count; ++k) {
      const std::vector<Index> expected = tuple(mine[k], now.layout->shape());
      for (std::size_t axis = 0; axis < indices.size(); ++axis) {
        EXPECT(indices[axis][k] == expected[static_cast<std::size_t>(now.axes[axis])]);
      }
    }
  }
}

/// Whether a scan's result lies as the array does, without ghosts.
bool stays(const Distribution& result, const Distribution& layout) {
  return result.shape() == layout.shape() && result.is_member(rank) == layout.is_member(rank) &&
         result.owned_shape(rank) == layout.owned_shape(rank) && !result.has_ghosts();
}

/// Layouts of one shape that differ in all that matters.
std::vector<DistributionPtr> layouts(const std::vector<Index>& shape) {
  Chance chance(5);
  std::vector<DistributionPtr> list{make_distribution(shape, checks::size),
                                    make_replicated(shape, checks::size),
                                    make_on_one(shape, checks::size - 1)};
  for (int k = 0; k < 6; ++k) list.push_back(random_layout(chance, shape, checks::size));
  return list;
}

// The contractions of T11 on every rank, whatever the layout; ranks outside of the grid too.
void known_results() {
  const Values matrix{3, 1, 2, 0, 5, 1, 4, 1, 1, 2, 2, 2};
  for (const DistributionPtr& layout : layouts({4, 3})) {
    const Values data = piece_of(*layout, rank, matrix);
    const Index* mine = data.data();
    EXPECT(sum(kWorld, *layout, mine) == 24);
    EXPECT(product(kWorld, *layout, mine) == 0);
    EXPECT(minimum(kWorld, *layout, mine) == 0 && maximum(kWorld, *layout, mine) == 5);
    EXPECT(any(kWorld, *layout, mine) && !all(kWorld, *layout, mine) &&
           count(kWorld, *layout, mine) == 11);
    const Located<Index> largest = max_location(kWorld, *layout, mine);
    EXPECT(largest.value == 5 && flat_index(*layout, largest.indices) == 4);
    EXPECT(flat_index(*layout, min_location(kWorld, *layout, mine).indices) == 3);
    EXPECT(mean(kWorld, *layout, mine) == 2 &&
           std::abs(variance(kWorld, *layout, mine) - 11.0 / 6) < 1e-14);
    EXPECT(vdot(kWorld, *layout, mine, *layout, mine) == 70);
    EXPECT(broadcast_element(kWorld, *layout, std::vector<Index>{1, 1}, mine) == 5);
    for (const auto& [axis, expected] :
         {std::pair<std::optional<int>, Values>{{}, {3, 4, 6, 6, 11, 12, 16, 17, 18, 20, 22, 24}},
          {0, {3, 1, 2, 3, 6, 3, 7, 7, 4, 9, 9, 6}}}) {
      ScanPlan plan(kWorld, *layout, axis, reduce_operator(Reducer::kSum, Scalar::kInt64));
      EXPECT(stays(*plan.result(), *layout));
      Values scanned(static_cast<std::size_t>(plan.result()->local_size(rank)));
      plan.execute(mine, scanned.data());
      EXPECT(scanned == piece_of(*plan.result(), rank, expected));
    }
  }
  for (const DistributionPtr& layout : layouts({4})) {
    const Values ties = piece_of(*layout, rank, Values{7, 1, 7, 1});
    EXPECT(max_location(kWorld, *layout, ties.data()).indices[0] == 0);
    EXPECT(min_location(kWorld, *layout, ties.data()).indices[0] == 1);
  }
  // Merged in any order, the mean is rounded at 1e9; in the order of the elements it is exact here.
  for (const DistributionPtr& layout : layouts({4})) {
    const auto far = piece_of(*layout, rank, std::vector<double>{1e9, 1e9 + 1, 1e9 + 2, 1e9 + 3});
    EXPECT(std::abs(variance(kWorld, *layout, far.data()) - 1.25) < 1e-6);
  }
  const DistributionPtr blocks = make_distribution(std::vector<Index>{4}, checks::size);
  EXPECT(variance(
             kWorld, *blocks,
             piece_of(*blocks, rank, std::vector<double>{1e9, 1e9 + 1, 1e9 + 2, 1e9 + 3}).data()) ==
         1.25);
}

// T8, and arrays without any elements.
void empty_pieces() {
  const DistributionPtr two = make_distribution(std::vector<Index>{2}, checks::size);
  const Values data = piece_of(*two, rank, Values{8, 3});
  EXPECT(sum(kWorld, *two, data.data()) == 11 && minimum(kWorld, *two, data.data()) == 3);
  EXPECT(maximum(kWorld, *two, data.data()) == 8 &&
         min_location(kWorld, *two, data.data()).indices[0] == 1);
  const auto greatest_divisor = [](Index a, Index b) { return std::gcd(a, b); };
  EXPECT(reduce_with(kWorld, *two, data.data(), greatest_divisor) == 1);
  for (const std::vector<Index>& shape : {std::vector<Index>{0}, {3, 0}, {0, 2, 5}}) {
    for (const DistributionPtr& layout : layouts(shape)) {
      const double* none = nullptr;
      EXPECT(sum(kWorld, *layout, none) == 0 && product(kWorld, *layout, none) == 1);
      EXPECT(!any(kWorld, *layout, none) && all(kWorld, *layout, none) &&
             count(kWorld, *layout, none) == 0);
      EXPECT(std::isnan(mean(kWorld, *layout, none)) &&
             std::isnan(variance(kWorld, *layout, none)));
      EXPECT(dot(kWorld, *layout, none, *layout, none) == 0);
      EXPECT(checks::refused(ErrorKind::kArgument, [&] { minimum(kWorld, *layout, none); }));
      EXPECT(checks::refused(ErrorKind::kArgument, [&] { max_location(kWorld, *layout, none); }));
      EXPECT(checks::refused(ErrorKind::kArgument,
                             [&] { reduce_with(kWorld, *layout, none, std::plus<double>()); }));
      EXPECT(reduce_with(kWorld, *layout, none, std::multiplies<double>(), std::optional(1.0)) ==
             1);
      ScanPlan(kWorld, *layout, {}, reduce_operator(Reducer::kSum, Scalar::kDouble))
          .execute(none, nullptr);
    }
  }
  // The largest number there is: an element is one all the same.
  const auto top = piece_of(
      *two, rank, Values{std::numeric_limits<Index>::max(), std::numeric_limits<Index>::max()});
  EXPECT(minimum(kWorld, *two, top.data()) == std::numeric_limits<Index>::max());
  const DistributionPtr single = make_distribution(std::vector<Index>{}, checks::size);
  const Index value = 42;
  EXPECT(sum(kWorld, *single, &value) == 42 &&
         max_location(kWorld, *single, &value).indices.empty());
}

void scans() {
  Chance chance(6);
  for (int number = 0; number < 120; ++number) {
    const Case now(chance, 7);
    const auto shape = now.layout->shape();
    std::optional<int> axis;
    if (!shape.empty() && !chance.once_in(3))
      axis = chance.small(0, static_cast<int>(shape.size()) - 1);
    const bool exclusive = chance.once_in(3);
    const bool largest = chance.once_in(3);
    Values expected(now.whole.size());
    std::map<Index, Index> sums;  // of each line
    for (Index k = 0; k < now.layout->size(); ++k) {
      std::vector<Index> line = tuple(k, shape);
      if (axis) line[static_cast<std::size_t>(*axis)] = 0;
      const Index name = axis ? flat(line, shape) : 0;
      Index& sum =
          sums.try_emplace(name, largest ? std::numeric_limits<Index>::lowest() : 0).first->second;
      const auto at = static_cast<std::size_t>(k);
      if (exclusive) expected[at] = sum;
      sum = largest ? std::max(sum, now.whole[at]) : sum + now.whole[at];
      if (!exclusive) expected[at] = sum;
    }
    ScanPlan plan(kWorld, *now.layout, axis,
                  reduce_operator(largest ? Reducer::kMax : Reducer::kSum, Scalar::kInt64),
                  {.range = exclusive ? ScanRange::kExclusive : ScanRange::kInclusive});
    EXPECT(stays(*plan.result(), *now.layout));
    Values data = piece_of(*now.layout, rank, now.whole);
    Values scanned(static_cast<std::size_t>(plan.result()->local_size(rank)));
    plan.execute(data.data(), scanned.data());
    EXPECT(scanned == piece_of(*plan.result(), rank, expected));
    if (!now.layout->has_ghosts()) {
      plan.execute(data.data(), data.data());
      EXPECT(data == scanned);
    }
  }
  const DistributionPtr layout = make_distribution(std::vector<Index>{4}, checks::size);
  const std::vector<std::int8_t> narrow =
      piece_of(*layout, rank, std::vector<std::int8_t>{100, 100, 100, 100});
  Values sums(narrow.size());
  cumulative_sum(kWorld, *layout, narrow.data(), {}, sums.data());
  EXPECT(sums == piece_of(*layout, rank, Values{100, 200, 300, 400}));
  EXPECT(checks::refused(ErrorKind::kType, [&] {
    std::vector<double> wrong(sums.size());
    cumulative_sum(kWorld, *layout, narrow.data(), {}, wrong.data());
  }));
  if (checks::size > 1) {
    const DistributionPtr shared =
        make_distribution({DimMap::unstructured({{0, 1}, {1, 2}}, false)});
    EXPECT(checks::refused(ErrorKind::kUnsupported, [&] {
      ScanPlan(kWorld, *shared, 0, reduce_operator(Reducer::kSum, Scalar::kInt64));
    }));
  }
}

// The same bits on all ranks and each time, and little rounding.
void rounding() {
  const Index count = 100001;
  const DistributionPtr layout = make_distribution(std::vector<Index>{count}, checks::size);
  std::vector<double> data;
  for (const checks::Owned& element : checks::owned_elements(*layout, rank)) {
    data.push_back(0.1 + 1e-3 * static_cast<double>(element.number % 7));
  }
  const double first = sum(kWorld, *layout, data.data());
  double root = first;
  MPI_Bcast(&root, 1, MPI_DOUBLE, 0, kWorld);
  EXPECT(std::memcmp(&root, &first, sizeof root) == 0);
  const double second = sum(kWorld, *layout, data.data());
  EXPECT(std::memcmp(&second, &first, sizeof first) == 0);
  long double exact = 0;
  for (Index k = 0; k < count; ++k)
    exact += static_cast<long double>(0.1 + 1e-3 * static_cast<double>(k % 7));
  EXPECT(std::abs(static_cast<double>(first - exact)) < 1e-10);
}

void errors() {
  const DistributionPtr layout =
      make_distribution(std::vector<Index>{checks::size, 2}, checks::size);
  const ReduceOperator sums = reduce_operator(Reducer::kSum, Scalar::kDouble);
  const auto plan = [&](const std::vector<int>& axes, Known known) {
    ReducePlan(kWorld, *layout, axes, sums, {.known = known});
  };
  EXPECT(checks::refused(ErrorKind::kArgument, [&] { plan({2}, Known::kOnMembers); }));
  EXPECT(checks::refused(ErrorKind::kArgument, [&] { plan({0, 0}, Known::kOnMembers); }));
  EXPECT(checks::refused(ErrorKind::kLayout, [&] { plan({0}, Known::kEverywhere); }));
  const DistributionPtr other =
      make_distribution(std::vector<Index>{2, checks::size + 1}, checks::size);
  if (checks::size > 1) {
    EXPECT(checks::refused(ErrorKind::kArgument,
                           [&] { ReducePlan(kWorld, rank == 0 ? *layout : *other, {0}, sums); }));
    const double two[2] = {0, 0};
    EXPECT(checks::refused(ErrorKind::kLayout, [&] { dot(kWorld, *layout, two, *other, two); }));
  }
}

}  // namespace

int main(int argc, char** argv) {
  checks::begin(&argc, &argv);
  checks::part("known results", known_results);
  checks::part("reductions over random axes", over_random_axes);
  checks::part("extremes over random axes", extremes);
  checks::part("empty pieces", empty_pieces);
  checks::part("operators of users", checks::operators_of_users);
  checks::part("scans", scans);
  checks::part("types", checks::contracted_types);
  checks::part("dot products", checks::dot_products);
  checks::part("means", checks::means);
  checks::part("rounding", rounding);
  checks::part("errors", errors);
  return checks::end();
}
