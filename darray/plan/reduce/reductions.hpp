// SPDX-License-Identifier: Apache-2.0
/// One-shot reductions of a whole array to values that every rank of the communicator gets. All are
/// collective over the communicator. `data` is the rank's local buffer (with ghosts). The mask is
/// aligned with the owned elements.
#pragma once

#include <cmath>
#include <complex>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "darray/plan/reduce/reduce.hpp"

namespace impishim::darray {

/// The type of a dot product: long double, double or complex<double> if one of the types has a
/// fraction, bool for two bools, else int64.
template <class A, class B>
using DotOf = std::conditional_t<
    detail::is_complex<A> || detail::is_complex<B>, std::complex<double>,
    std::conditional_t<
        std::is_same_v<A, long double> || std::is_same_v<B, long double>, long double,
        std::conditional_t<std::is_floating_point_v<A> || std::is_floating_point_v<B>, double,
                           std::conditional_t<std::is_same_v<A, bool> && std::is_same_v<B, bool>,
                                              bool, std::int64_t>>>>;

/// Reduces elements of any type; `result` becomes one accumulator of the operator. `name` is the
/// operation's name in messages about ranks that call different operations; empty means
/// "reduction". Throws the errors of ReducePlan.
void reduce(MPI_Comm comm, const Distribution& distribution, const void* data,
            const ReduceOperator& operation, void* result, Mask mask = {}, std::string name = {});

/// Returns the sum; 0 if there are no elements.
template <class T>
SumOf<T> sum(MPI_Comm comm, const Distribution& distribution, const T* data, Mask mask = {}) {
  SumOf<T> result{};
  reduce(comm, distribution, data, reduce_operator(Reducer::kSum, scalar_of<T>()), &result, mask);
  return result;
}

/// Returns the product; 1 if there are no elements.
template <class T>
SumOf<T> product(MPI_Comm comm, const Distribution& distribution, const T* data, Mask mask = {}) {
  SumOf<T> result{};
  reduce(comm, distribution, data, reduce_operator(Reducer::kProduct, scalar_of<T>()), &result,
         mask);
  return result;
}

/// Returns the smallest element, or NaN if an element is NaN. Throws Error(kArgument) if there are
/// no elements.
template <class T>
T minimum(MPI_Comm comm, const Distribution& distribution, const T* data, Mask mask = {}) {
  T result{};
  reduce(comm, distribution, data, reduce_operator(Reducer::kMin, scalar_of<T>()), &result, mask);
  return result;
}

/// Returns the largest element, or NaN if an element is NaN. Throws Error(kArgument) if there are
/// no elements.
template <class T>
T maximum(MPI_Comm comm, const Distribution& distribution, const T* data, Mask mask = {}) {
  T result{};
  reduce(comm, distribution, data, reduce_operator(Reducer::kMax, scalar_of<T>()), &result, mask);
  return result;
}

/// Returns true if an element differs from zero. Returns false if there are no elements.
template <class T>
bool any(MPI_Comm comm, const Distribution& distribution, const T* data, Mask mask = {}) {
  bool result = false;
  reduce(comm, distribution, data, reduce_operator(Reducer::kAny, scalar_of<T>()), &result, mask);
  return result;
}

/// Returns true if all elements differ from zero, or if there are no elements.
template <class T>
bool all(MPI_Comm comm, const Distribution& distribution, const T* data, Mask mask = {}) {
  bool result = true;
  reduce(comm, distribution, data, reduce_operator(Reducer::kAll, scalar_of<T>()), &result, mask);
  return result;
}

/// Returns the number of elements that differ from zero.
template <class T>
Index count(MPI_Comm comm, const Distribution& distribution, const T* data, Mask mask = {}) {
  Index result = 0;
  reduce(comm, distribution, data, reduce_operator(Reducer::kCount, scalar_of<T>()), &result, mask);
  return result;
}

/// Reduces all elements with a user's operator, in a fixed order. Without an identity, throws
/// Error(kArgument) if there are no elements or if there is a mask.
template <class T, class Operation>
T reduce_with(MPI_Comm comm, const Distribution& distribution, const T* data, Operation operation,
              std::optional<T> identity = {}, Mask mask = {}) {
  T result{};
  reduce(comm, distribution, data, reduce_operator<T>(operation, identity), &result, mask);
  return result;
}

/// An element and its place: global indices, or labels, one for each axis.
template <class T>
struct Located {
  T value;
  std::vector<Index> indices;
};

/// Returns the row-major number of an element. It has no meaning for labels.
Index flat_index(const Distribution& distribution, std::span<const Index> indices);

namespace detail {
void locate(MPI_Comm comm, const Distribution& distribution, const void* data, Scalar scalar,
            Extreme extreme, void* value, std::vector<Index>& indices, Mask mask);
}  // namespace detail

/// Returns the smallest element, the first of equal ones. Throws Error(kArgument) if there are no
/// elements.
template <class T>
Located<T> min_location(MPI_Comm comm, const Distribution& distribution, const T* data,
                        Mask mask = {}) {
  Located<T> result{};
  detail::locate(comm, distribution, data, scalar_of<T>(), Extreme::kMin, &result.value,
                 result.indices, mask);
  return result;
}

/// Returns the largest element, the first of equal ones. Throws Error(kArgument) if there are no
/// elements.
template <class T>
Located<T> max_location(MPI_Comm comm, const Distribution& distribution, const T* data,
                        Mask mask = {}) {
  Located<T> result{};
  detail::locate(comm, distribution, data, scalar_of<T>(), Extreme::kMax, &result.value,
                 result.indices, mask);
  return result;
}

/// Returns the number, mean and squared distances of all elements. `name` has the same meaning as
/// for reduce().
template <class T>
Moments moments(MPI_Comm comm, const Distribution& distribution, const T* data, Mask mask = {},
                std::string name = {}) {
  Moments result;
  reduce(comm, distribution, data, moments_operator(scalar_of<T>()), &result, mask,
         std::move(name));
  return result;
}

/// Returns the mean: NaN if there are no elements, complex for complex elements.
template <class T>
auto mean(MPI_Comm comm, const Distribution& distribution, const T* data, Mask mask = {}) {
  const Moments found = moments(comm, distribution, data, mask, "mean");
  const double real = found.count > 0 ? found.mean : std::numeric_limits<double>::quiet_NaN();
  if constexpr (detail::is_complex<T>) {
    return std::complex<double>(real, found.imaginary);
  } else {
    return real;
  }
}

/// Returns the sum of squared distances from the mean, divided by the number of elements minus
/// `less`. Returns NaN if this divisor is not positive.
template <class T>
double variance(MPI_Comm comm, const Distribution& distribution, const T* data, double less = 0,
                Mask mask = {}) {
  const Moments found =
      moments(comm, distribution, data, mask, fmt::format("variance with ddof {}", less));
  return found.count > less ? found.squares / (found.count - less)
                            : std::numeric_limits<double>::quiet_NaN();
}

template <class T>
double deviation(MPI_Comm comm, const Distribution& distribution, const T* data, double less = 0,
                 Mask mask = {}) {
  return std::sqrt(variance(comm, distribution, data, less, mask));
}

namespace detail {
/// The common part of dot products. The kernel adds the products of two pieces.
using DotFunction =
    std::function<void(const ReducePiece&, const void* left, const void* right, void* into)>;
void dot(MPI_Comm comm, const Distribution& left, const void* left_data, std::size_t left_size,
         const Distribution& right, const void* right_data, std::size_t right_size,
         const Element& result_element, const CombineFunction& combine, const DotFunction& local,
         void* result);

template <bool kConjugate, class A, class B>
DotOf<A, B> typed_dot(MPI_Comm comm, const Distribution& left, const A* left_data,
                      const Distribution& right, const B* right_data) {
  using Result = DotOf<A, B>;
  Result result{};
  dot(comm, left, left_data, sizeof(A), right, right_data, sizeof(B), element_of<Result>(),
      combine_function(Combine::kSum, scalar_of<Result>()), dot_pieces<A, B, Result, kConjugate>,
      &result);
  return result;
}
}  // namespace detail

/// Returns the sum of the products of aligned elements. The distributions have the same pieces;
/// ghosts may differ. For two bools, returns true if both are true at some place. Throws
/// Error(kLayout) if the arrays are not aligned.
template <class A, class B>
DotOf<A, B> dot(MPI_Comm comm, const Distribution& left, const A* left_data,
                const Distribution& right, const B* right_data) {
  return detail::typed_dot<false>(comm, left, left_data, right, right_data);
}

/// Does the same as dot(), with the left operand conjugated (D2O-75).
template <class A, class B>
DotOf<A, B> vdot(MPI_Comm comm, const Distribution& left, const A* left_data,
                 const Distribution& right, const B* right_data) {
  return detail::typed_dot<true>(comm, left, left_data, right, right_data);
}

}  // namespace impishim::darray
