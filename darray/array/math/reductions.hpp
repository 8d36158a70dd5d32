// SPDX-License-Identifier: Apache-2.0
/// Contractions of arrays (D2O-70 to D2O-76). A contraction of all axes gives a value on every
/// process; a contraction of some axes gives an array. All are collective. Sums and products of
/// integers and bool have 64 bits. Means and variances are floating-point numbers.
#pragma once

#include <cmath>
#include <concepts>
#include <limits>

#include "darray/array/math/functions.hpp"
#include "darray/plan/reduce/reductions.hpp"

namespace impishim::darray {

namespace detail {

/// Returns the layout of a contraction's result with this distribution (D2O-71). Its strategy is
/// that of `from` if the pieces are the same, `not` if every process has everything, and freeform
/// for slices. Otherwise, it is the distribution itself. Local.
[[nodiscard]] LayoutPtr contracted_layout(const Layout& from, const DistributionPtr& distribution);

/// Throws Error(kUnsupported) if elements have labels and so no row-major numbers.
void require_numbers(const Layout& layout);

template <class T>
MPI_Comm user_communicator(const DistArray<T>& array) {
  return array.layout()->context()->user();
}

/// Contracts these axes with an operator whose accumulators have type U.
template <class U, class T>
DistArray<U> reduce_axes(const DistArray<T>& array, const std::vector<int>& axes,
                         ReduceOperator operation) {
  const Element accumulator = operation.accumulator;
  ReducePlan plan(user_communicator(array), array.distribution(), axes, std::move(operation));
  DistArray<U> result(contracted_layout(*array.layout(), plan.result()));
  if (accumulator.size != sizeof(U))
    fail(ErrorKind::kType, "accumulators of {} bytes for elements of {}", accumulator.size,
         sizeof(U));
  plan.execute(array.data(), result.data());
  return result;
}

/// Does the same if accumulators are not elements: function(accumulator) is the element. `name` is
/// the name of the operation.
template <class U, class Accumulator, class T, class Function>
DistArray<U> reduce_axes_through(const DistArray<T>& array, const std::vector<int>& axes,
                                 ReduceOperator operation, std::string name, Function function) {
  ReducePlan plan(user_communicator(array), array.distribution(), axes, std::move(operation),
                  {.operation = std::move(name)});
  const LayoutPtr layout = contracted_layout(*array.layout(), plan.result());
  LocalArray<char> room(Shape{layout->buffer_size() * static_cast<Index>(sizeof(Accumulator))});
  auto* accumulators = reinterpret_cast<Accumulator*>(room.data());
  plan.execute(array.data(), accumulators);
  DistArray<U> result(layout);
  std::transform(accumulators, accumulators + layout->buffer_size(), result.data(), function);
  return result;
}

template <class T>
T reduce_all(const DistArray<T>& array, Reducer reducer) {
  T result{};
  reduce(user_communicator(array), array.distribution(), array.data(),
         reduce_operator(reducer, scalar_of<T>()), &result);
  return result;
}

template <class T>
using MeanOf = std::conditional_t<kIsComplex<T>, std::complex<double>, double>;

template <class T>
MeanOf<T> mean_of(const Moments& moments) {
  const double mean = moments.count > 0 ? moments.mean : std::numeric_limits<double>::quiet_NaN();
  if constexpr (kIsComplex<T>) {
    return {mean, moments.imaginary};
  } else {
    return mean;
  }
}

inline double variance_of(const Moments& moments, double less) {
  return moments.count > less ? moments.squares / (moments.count - less)
                              : std::numeric_limits<double>::quiet_NaN();
}

template <class E>
auto evaluated(const E& expression) {
  return DistArray<typename E::Value>(expression);
}

}  // namespace detail

/// The axes to contract. An empty list contracts each element alone, as NumPy's axis=(). Sums,
/// means and extremes are then copies, and variances are 0. any(), all() and count_nonzero() then
/// give the truth of each element.
using AxisList = std::vector<int>;

/// Returns the sum; 0 without elements.
template <class T>
SumOf<T> sum(const DistArray<T>& array) {
  return sum(detail::user_communicator(array), array.distribution(), array.data());
}
template <class T>
DistArray<SumOf<T>> sum(const DistArray<T>& array, const AxisList& axes) {
  return detail::reduce_axes<SumOf<T>>(array, axes, reduce_operator(Reducer::kSum, scalar_of<T>()));
}
/// Returns the product; 1 without elements.
template <class T>
SumOf<T> prod(const DistArray<T>& array) {
  return product(detail::user_communicator(array), array.distribution(), array.data());
}
template <class T>
DistArray<SumOf<T>> prod(const DistArray<T>& array, const AxisList& axes) {
  return detail::reduce_axes<SumOf<T>>(array, axes,
                                       reduce_operator(Reducer::kProduct, scalar_of<T>()));
}
/// Return the smallest and largest elements. The result is NaN if an element is NaN; nanmin() and
/// nanmax() skip NaNs. Throw Error(kArgument) without elements.
template <class T>
T min(const DistArray<T>& array) {
  return detail::reduce_all(array, Reducer::kMin);
}
template <class T>
DistArray<T> min(const DistArray<T>& array, const AxisList& axes) {
  return detail::reduce_axes<T>(array, axes, reduce_operator(Reducer::kMin, scalar_of<T>()));
}
template <class T>
T max(const DistArray<T>& array) {
  return detail::reduce_all(array, Reducer::kMax);
}
template <class T>
DistArray<T> max(const DistArray<T>& array, const AxisList& axes) {
  return detail::reduce_axes<T>(array, axes, reduce_operator(Reducer::kMax, scalar_of<T>()));
}
template <class T>
T nanmin(const DistArray<T>& array) {
  return detail::reduce_all(array, Reducer::kNanMin);
}
template <class T>
DistArray<T> nanmin(const DistArray<T>& array, const AxisList& axes) {
  return detail::reduce_axes<T>(array, axes, reduce_operator(Reducer::kNanMin, scalar_of<T>()));
}
template <class T>
T nanmax(const DistArray<T>& array) {
  return detail::reduce_all(array, Reducer::kNanMax);
}
template <class T>
DistArray<T> nanmax(const DistArray<T>& array, const AxisList& axes) {
  return detail::reduce_axes<T>(array, axes, reduce_operator(Reducer::kNanMax, scalar_of<T>()));
}
/// Return true if an element differs from 0 (any), or if all elements do (all).
template <class T>
bool any(const DistArray<T>& array) {
  return any(detail::user_communicator(array), array.distribution(), array.data());
}
template <class T>
DistArray<bool> any(const DistArray<T>& array, const AxisList& axes) {
  return detail::reduce_axes<bool>(array, axes, reduce_operator(Reducer::kAny, scalar_of<T>()));
}
template <class T>
bool all(const DistArray<T>& array) {
  return all(detail::user_communicator(array), array.distribution(), array.data());
}
template <class T>
DistArray<bool> all(const DistArray<T>& array, const AxisList& axes) {
  return detail::reduce_axes<bool>(array, axes, reduce_operator(Reducer::kAll, scalar_of<T>()));
}
/// Returns the number of elements that differ from 0.
template <class T>
Index count_nonzero(const DistArray<T>& array) {
  return count(detail::user_communicator(array), array.distribution(), array.data());
}
template <class T>
DistArray<Index> count_nonzero(const DistArray<T>& array, const AxisList& axes) {
  return detail::reduce_axes<Index>(array, axes, reduce_operator(Reducer::kCount, scalar_of<T>()));
}
/// Returns the mean; NaN without elements.
template <class T>
auto mean(const DistArray<T>& array) {
  return mean(detail::user_communicator(array), array.distribution(), array.data());
}
template <class T>
auto mean(const DistArray<T>& array, const AxisList& axes) {
  return detail::reduce_axes_through<detail::MeanOf<T>, Moments>(
      array, axes, moments_operator(scalar_of<T>()), "mean", detail::mean_of<T>);
}
/// The difference between the number of elements and the divisor of a variance (NumPy's ddof).
struct Ddof {
  double value = 0;
};

/// Returns the mean squared distance from the mean, computed without cancellation (D2O-74).
template <class T>
double var(const DistArray<T>& array) {
  return variance(detail::user_communicator(array), array.distribution(), array.data());
}
template <class T, std::same_as<Ddof> D>
double var(const DistArray<T>& array, D ddof) {
  return variance(detail::user_communicator(array), array.distribution(), array.data(), ddof.value);
}
template <class T>
DistArray<double> var(const DistArray<T>& array, const AxisList& axes, Ddof ddof = {}) {
  const auto value = [ddof](const Moments& moments) {
    return detail::variance_of(moments, ddof.value);
  };
  return detail::reduce_axes_through<double, Moments>(
      array, axes, moments_operator(scalar_of<T>()),
      fmt::format("variance with ddof {}", ddof.value), value);
}
/// Returns the square root of the variance: NumPy's std.
template <class T>
double stddev(const DistArray<T>& array) {
  return std::sqrt(var(array));
}
template <class T, std::same_as<Ddof> D>
double stddev(const DistArray<T>& array, D ddof) {
  return std::sqrt(var(array, ddof));
}
template <class T>
DistArray<double> stddev(const DistArray<T>& array, const AxisList& axes, Ddof ddof = {}) {
  DistArray<double> result = var(array, axes, ddof);
  result = sqrt(result);
  return result;
}

/// Returns the indices of the first smallest or largest element, one for each axis (D2O-76). Throws
/// Error(kArgument) without elements.
template <class T>
std::vector<Index> argmin_nonflat(const DistArray<T>& array) {
  return min_location(detail::user_communicator(array), array.distribution(), array.data()).indices;
}
template <class T>
std::vector<Index> argmax_nonflat(const DistArray<T>& array) {
  return max_location(detail::user_communicator(array), array.distribution(), array.data()).indices;
}
/// Returns the row-major number of that element. Also throws Error(kUnsupported) for an array with
/// an unstructured axis, because labels have no row-major numbers.
template <class T>
Index argmin(const DistArray<T>& array) {
  detail::require_numbers(*array.layout());
  return flat_index(array.distribution(), argmin_nonflat(array));
}
template <class T>
Index argmax(const DistArray<T>& array) {
  detail::require_numbers(*array.layout());
  return flat_index(array.distribution(), argmax_nonflat(array));
}

namespace detail {
template <class T>
DistArray<Index> locate_axis(const DistArray<T>& array, int axis, Extreme extreme) {
  LocatePlan plan(user_communicator(array), array.distribution(), {axis}, scalar_of<T>(), extreme);
  DistArray<Index> result(contracted_layout(*array.layout(), plan.result()));
  LocalArray<T> values(Shape{result.layout()->buffer_size()});
  plan.execute(array.data(), values.data(), {result.data()});
  return result;
}
}  // namespace detail

/// Returns the index of the first smallest or largest element along an axis.
template <class T>
DistArray<Index> argmin(const DistArray<T>& array, int axis) {
  return detail::locate_axis(array, axis, Extreme::kMin);
}
template <class T>
DistArray<Index> argmax(const DistArray<T>& array, int axis) {
  return detail::locate_axis(array, axis, Extreme::kMax);
}

/// Returns the sum of the products of two arrays of one shape. Redistributes the second array if
/// its distribution differs.
template <class A, class B>
DotOf<A, B> dot(const DistArray<A>& left, const DistArray<B>& right) {
  if (!detail::meets_in_place(*left.layout(), *right.layout()))
    return dot(left, right.template copy_to<B>(left.layout()));
  return dot(detail::user_communicator(left), left.distribution(), left.data(),
             right.distribution(), right.data());
}
/// Does the same with the left array conjugated (D2O-75).
template <class A, class B>
DotOf<A, B> vdot(const DistArray<A>& left, const DistArray<B>& right) {
  if (!detail::meets_in_place(*left.layout(), *right.layout()))
    return vdot(left, right.template copy_to<B>(left.layout()));
  return vdot(detail::user_communicator(left), left.distribution(), left.data(),
              right.distribution(), right.data());
}

// Functions of expressions: they evaluate the expression to an array first.
#define DARRAY_OF_EXPRESSION(name)                                \
  template <ArrayExpression E, class... Arguments>                \
  auto name(const E& expression, const Arguments&... arguments) { \
    return name(detail::evaluated(expression), arguments...);     \
  }
DARRAY_OF_EXPRESSION(sum)
DARRAY_OF_EXPRESSION(prod)
DARRAY_OF_EXPRESSION(min)
DARRAY_OF_EXPRESSION(max)
DARRAY_OF_EXPRESSION(any)
DARRAY_OF_EXPRESSION(all)
DARRAY_OF_EXPRESSION(count_nonzero)
DARRAY_OF_EXPRESSION(mean)
DARRAY_OF_EXPRESSION(var)
DARRAY_OF_EXPRESSION(stddev)
DARRAY_OF_EXPRESSION(nanmin)
DARRAY_OF_EXPRESSION(nanmax)
DARRAY_OF_EXPRESSION(argmin)
DARRAY_OF_EXPRESSION(argmax)
DARRAY_OF_EXPRESSION(argmin_nonflat)
DARRAY_OF_EXPRESSION(argmax_nonflat)
#undef DARRAY_OF_EXPRESSION

/// Returns true if |a - b| <= absolute + relative * |b| for all elements (DIS-07). b is any operand
/// of an operation with an array.
template <class T, Operand B>
bool allclose(const DistArray<T>& a, const B& b, double relative = 1e-5, double absolute = 1e-8) {
  return all(apply(
      [relative, absolute](const auto& x, const auto& y) {
        using C = Promoted<std::remove_cvref_t<decltype(x)>, std::remove_cvref_t<decltype(y)>>;
        const C left = element_cast<C>(x);
        const C right = element_cast<C>(y);
        if (left == right) return true;  // also for infinities
        const double size = static_cast<double>(std::abs(element_cast<Floating<C>>(right)));
        if (std::isinf(size)) return false;
        return static_cast<double>(
                   std::abs(element_cast<Floating<C>>(left) - element_cast<Floating<C>>(right))) <=
               absolute + relative * size;
      },
      a, b));
}

/// Returns true if two arrays have the same element type, shape and strategy, and all elements are
/// equal (D2O-63).
template <class A, class B>
bool equal(const DistArray<A>& a, const DistArray<B>& b) {
  if constexpr (std::is_same_v<A, B>) {
    return a.shape() == b.shape() && a.strategy() == b.strategy() &&
           a.layout()->aligned(*b.layout()) && all(a == b);
  } else {
    return false;
  }
}

}  // namespace impishim::darray
