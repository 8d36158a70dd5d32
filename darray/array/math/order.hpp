// SPDX-License-Identifier: Apache-2.0
/// Unique values, counts of integers, cumulative sums and medians (D2O-70, D2O-77, D2O-78). All are
/// collective.
#pragma once

#include <algorithm>
#include <cmath>

#include "darray/array/math/reductions.hpp"
#include "darray/index/make_distribution.hpp"
#include "darray/plan/reduce/scan.hpp"
#include "darray/schedule/reduce_schedule.hpp"

namespace impishim::darray {

namespace detail {

/// Agrees on an operation on an array, and runs `body`, which checks the arguments and may throw.
/// `add` adds the other arguments to the call. Collective, also for arrays that every process has
/// as a whole.
template <class T>
void agree_on_array_call(
    const char* operation, const DistArray<T>& array,
    const std::function<void(CollectiveCall&)>& add = [](CollectiveCall&) {},
    const std::function<void()>& body = [] {}) {
  const auto call = [&] {
    CollectiveCall given(operation);
    given.with("array", array.distribution()).with("element type", name_of(scalar_of<T>()));
    add(given);
    return given;
  };
  agreed(array.communicator(), Checks::kOn, call, body);
}

/// NumPy's order: NaNs are last and equal to each other; complex numbers are ordered by their real
/// parts first.
template <class T>
bool sorts_before(const T& a, const T& b) {
  if constexpr (kIsComplex<T>) {
    if (sorts_before(a.real(), b.real())) return true;
    return !sorts_before(b.real(), a.real()) && sorts_before(a.imag(), b.imag());
  } else {
    return a < b || (a == a && b != b);
  }
}

template <class T>
Index sort_unique(LocalArray<T>& values) {
  std::sort(values.begin(), values.end(), sorts_before<T>);
  const auto same = [](const T& a, const T& b) { return !sorts_before(a, b); };  // a is not after b
  return std::unique(values.begin(), values.end(), same) - values.begin();
}

/// Returns the elements of which this process has the primary copy, contiguous in memory.
template <class T>
LocalArray<T> primary_elements(const DistArray<T>& array) {
  const bool mine = array.distribution().is_primary(array.layout()->rank());
  LocalArray<T> values(Shape{mine ? array.local_size() : 0});
  if (mine) {
    for_each_row(*array.layout(), [&](Index offset, Index count, Index position) {
      cast_row(values.data() + position, 1, array.data() + offset, 1, count);
    });
  }
  return values;
}

/// Returns every process's value, by rank. Collective.
template <class T>
LocalArray<T> gathered(const Communicator& communicator, const T& mine) {
  LocalArray<T> all(Shape{communicator.size()});
  const Element element = element_of<T>();
  check_mpi(MPI_Allgather(&mine, element.items, element.type, all.data(), element.items,
                          element.type, communicator.get()),
            "MPI_Allgather");
  return all;
}

/// Returns the k-th smallest value of all processes together. Destroys `values`. Every round uses
/// the weighted median of the processes' medians, and removes at least a quarter of the remaining
/// values.
template <class T>
T select(const Communicator& communicator, LocalArray<T>& values, Index k) {
  T* first = values.begin();
  T* last = values.end();
  while (true) {
    T middle{};  // stays if there are no values; its weight is then 0
    if (first != last) {
      T* half = first + (last - first) / 2;
      std::nth_element(first, half, last, sorts_before<T>);
      middle = *half;
    }
    const LocalArray<T> middles = gathered(communicator, middle);
    const LocalArray<Index> weights = gathered(communicator, Index{last - first});
    std::vector<Index> order;
    for (Index each = 0; each < weights.size(); ++each) {
      if (weights[each] > 0) order.push_back(each);
    }
    std::sort(order.begin(), order.end(),
              [&](Index a, Index b) { return sorts_before(middles[a], middles[b]); });
    Index total = 0;
    for (const Index each : weights) total += each;
    Index below = 0;
    T pivot = middles[order[0]];
    for (const Index each : order) {
      pivot = middles[each];
      below += weights[each];
      if (2 * below >= total) break;
    }
    T* const equal =
        std::partition(first, last, [&](const T& value) { return sorts_before(value, pivot); });
    T* const greater =
        std::partition(equal, last, [&](const T& value) { return !sorts_before(pivot, value); });
    Index counts[2] = {equal - first, greater - first};
    all_reduce(communicator, element_of<Index>(), counts, 2, Combine::kSum);
    if (k < counts[0]) {
      last = equal;
    } else if (k < counts[1]) {
      return pivot;
    } else {
      first = greater;
      k -= counts[1];
    }
  }
}

/// The layouts for a median along axes. In `whole`, each process has these axes complete. `part` is
/// the same without these axes, `result` is the layout of D2O-71. `order` lists the axes that stay,
/// then the others. `group` is the number of elements for each element of the result.
struct MedianLayouts {
  LayoutPtr whole;
  LayoutPtr part;
  LayoutPtr result;
  std::vector<int> order;
  Index group = 1;
};
[[nodiscard]] MedianLayouts median_layouts(const Layout& from, std::vector<int> axes);

/// Returns the median of values in this process's memory, and reorders them.
template <class T>
Floating<T> median_of(T* first, T* last) {
  using F = Floating<T>;
  const Index count = last - first;
  if (count == 0) return std::numeric_limits<F>::quiet_NaN();
  T* const half = first + count / 2;
  std::nth_element(first, half, last, sorts_before<T>);
  for (const T* each = half; each != last; ++each) {
    if (*each != *each) return std::numeric_limits<F>::quiet_NaN();
  }
  const auto upper = static_cast<F>(*half);
  if (count % 2 == 1) return upper;
  return (static_cast<F>(*std::max_element(first, half)) + upper) / 2;
}

}  // namespace detail

/// Returns the different values, sorted, on every process. NaNs count as equal, and come last.
template <class T>
LocalArray<T> unique(const DistArray<T>& array) {
  detail::agree_on_array_call("unique", array);
  LocalArray<T> mine =
      array.layout()->is_everywhere() ? array.get_local() : detail::primary_elements(array);
  Index count = detail::sort_unique(mine);
  if (!array.layout()->is_everywhere()) {
    const StridedView<const T> found(mine.data(), Shape{count});
    mine =
        DistArray<T>::from_local(detail::user_communicator(array), found, Checks::kOff).get_full();
    count = detail::sort_unique(mine);
  }
  return LocalArray<T>(StridedView<const T>(mine.data(), Shape{count}));
}

namespace detail {

template <class Count, class T, class Weight>
LocalArray<Count> count_values(const DistArray<T>& array, Index length, Weight weight) {
  static_assert(std::is_integral_v<T> && !std::is_same_v<T, bool>, "only integers are counted");
  const Communicator& communicator = array.communicator();
  agree_on_array_call("bincount", array, [&](CollectiveCall& call) {
    call.with("length", length)
        .with("counts", std::is_same_v<Count, double> ? "weighted" : "plain");
  });
  const bool mine = array.distribution().is_primary(array.layout()->rank());
  Index extremes[2] = {-1, 0};  // the largest value, and the negated smallest value
  for_each_row(*array.layout(), [&](Index offset, Index count, Index) {
    for (Index k = offset; k < offset + count; ++k) {
      if (std::cmp_greater(array.data()[k], kMaximumExtent)) {
        extremes[0] = kMaximumExtent;
        continue;
      }
      extremes[0] = std::max(extremes[0], static_cast<Index>(array.data()[k]));
      extremes[1] =
          std::max(extremes[1], -std::max(static_cast<Index>(array.data()[k]), -kMaximumExtent));
    }
  });
  all_reduce(communicator, element_of<Index>(), extremes, 2, Combine::kMax);
  if (extremes[1] > 0)
    fail(ErrorKind::kArgument, "bincount() of negative values: {} is the smallest", -extremes[1]);
  if (extremes[0] == kMaximumExtent) fail(ErrorKind::kArgument, "bincount() of values above 2^62");
  LocalArray<Count> counts(Shape{std::max(extremes[0] + 1, length)}, Count(0));
  if (mine) {
    for_each_row(*array.layout(), [&](Index offset, Index count, Index) {
      for (Index k = offset; k < offset + count; ++k)
        counts[static_cast<Index>(array.data()[k])] += weight(k);
    });
  }
  all_reduce(communicator, element_of<Count>(), counts.data(), counts.size(), Combine::kSum);
  return counts;
}

}  // namespace detail

/// Counts the occurrences of each of 0, 1, ... up to the largest element, for at least `length`
/// numbers. The result is on every process. Throws Error(kArgument) for negative elements.
template <class T>
LocalArray<Index> bincount(const DistArray<T>& array, Index length = 0) {
  return detail::count_values<Index>(array, length, [](Index) { return Index{1}; });
}
/// Returns the sum of the weights of the elements with each value.
template <class T, class W>
LocalArray<double> bincount(const DistArray<T>& array, const DistArray<W>& weights,
                            Index length = 0) {
  if (array.layout() != weights.layout()) {
    return bincount(array, weights.template copy_to<double>(array.layout()), length);
  }
  const W* data = weights.data();
  return detail::count_values<double>(array, length,
                                      [data](Index k) { return static_cast<double>(data[k]); });
}

/// Returns the sums up to each element along an axis.
template <class T>
DistArray<SumOf<T>> cumsum(const DistArray<T>& array, int axis) {
  ScanPlan plan(detail::user_communicator(array), array.distribution(), axis,
                reduce_operator(Reducer::kSum, scalar_of<T>()));
  DistArray<SumOf<T>> result(detail::contracted_layout(*array.layout(), plan.result()));
  plan.execute(array.data(), result.data());
  return result;
}
/// Returns the sums up to each element in row-major order. The result has one axis (D2O-54).
template <class T>
DistArray<SumOf<T>> cumsum(const DistArray<T>& array) {
  ScanPlan plan(detail::user_communicator(array), array.distribution(), std::nullopt,
                reduce_operator(Reducer::kSum, scalar_of<T>()));
  DistArray<SumOf<T>> result(detail::contracted_layout(*array.layout(), plan.result()));
  plan.execute(array.data(), result.data());
  return result.flatten();
}

/// Returns the median of all elements: the middle one, or the mean of the two middle ones. Returns
/// NaN if an element is NaN, or if there are no elements.
template <class T>
Floating<T> median(const DistArray<T>& array) {
  static_assert(!kIsComplex<T>, "complex numbers have no median");
  detail::agree_on_array_call("median", array);
  LocalArray<T> values =
      array.layout()->is_everywhere() ? array.get_local() : detail::primary_elements(array);
  if (array.layout()->is_everywhere()) return detail::median_of(values.begin(), values.end());
  using F = Floating<T>;
  const Index size = array.size();
  bool none = size == 0;
  if constexpr (std::is_floating_point_v<T>) none = none || any(isnan(array));
  if (none) return std::numeric_limits<F>::quiet_NaN();
  LocalArray<T> again = values;
  const Communicator& communicator = array.communicator();
  const auto upper = static_cast<F>(detail::select(communicator, values, size / 2));
  if (size % 2 == 1) return upper;
  return (static_cast<F>(detail::select(communicator, again, size / 2 - 1)) + upper) / 2;
}

/// Returns the medians along axes. The array is redistributed so that each process has these axes
/// complete.
template <class T>
DistArray<Floating<T>> median(const DistArray<T>& array, const AxisList& axes) {
  using F = Floating<T>;
  detail::MedianLayouts layouts;
  detail::agree_on_array_call(
      "median", array, [&](CollectiveCall& call) { call.with("axes", std::span<const int>(axes)); },
      [&] {
        if (!axes.empty()) layouts = detail::median_layouts(*array.layout(), axes);
      });
  if (axes.empty()) return array.template copy<F>();
  const DistArray<T> whole = array.copy_to(layouts.whole, Checks::kOff);
  DistArray<F> part(layouts.part);
  const StridedView<const T> turned = whole.local().permute(layouts.order);
  const LocalArray<T> values(turned);
  LocalArray<T> group(Shape{layouts.group});
  for (Index k = 0; k < part.local_size(); ++k) {
    std::copy_n(values.data() + k * layouts.group, layouts.group, group.data());
    part.data()[k] = detail::median_of(group.begin(), group.end());
  }
  return part.copy_to(layouts.result, Checks::kOff);
}

// Functions of expressions: they evaluate the expression to an array first.
template <ArrayExpression E, class... Arguments>
auto unique(const E& expression, const Arguments&... arguments) {
  return unique(detail::evaluated(expression), arguments...);
}
template <ArrayExpression E, class... Arguments>
auto bincount(const E& expression, const Arguments&... arguments) {
  return bincount(detail::evaluated(expression), arguments...);
}
template <ArrayExpression E, class... Arguments>
auto cumsum(const E& expression, const Arguments&... arguments) {
  return cumsum(detail::evaluated(expression), arguments...);
}
template <ArrayExpression E, class... Arguments>
auto median(const E& expression, const Arguments&... arguments) {
  return median(detail::evaluated(expression), arguments...);
}

}  // namespace impishim::darray
