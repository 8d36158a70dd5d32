// SPDX-License-Identifier: Apache-2.0
// The local part of reductions: pairwise over any strided piece. Templates on the elements and the
// operator; not for users.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <type_traits>
#include <vector>

#include "darray/index/triplet.hpp"
#include "darray/local/combine.hpp"
#include "darray/local/wrapping.hpp"

namespace impishim::darray {

/// A dimension of a piece: the distance of its elements, and of the elements of a second aligned
/// piece (a mask, another operand).
struct ReduceDimension {
  Index extent = 0;
  Index stride = 1;
  Index other = 1;
};

/// The dimensions of a piece on one rank that has more than one element along them: those that
/// stay, and those that are reduced.
struct ReducePiece {
  std::vector<ReduceDimension> kept;
  std::vector<ReduceDimension> reduced;
};

/// Reduces: into[j], for the j-th kept element in row-major order, becomes the reduction of its
/// elements. `mask` is null, or has one value for each element, by the piece's other strides. If
/// there is no element to reduce, the result is the identity, which must then exist, as with a
/// mask.
using ReduceFunction =
    std::function<void(const ReducePiece&, const void* source, const bool* mask, void* into)>;

namespace detail {

/// Reads the elements of one piece.
template <class T>
struct Elements {
  static constexpr bool kMasked = false;
  const T* data;
  T operator()(Index at, Index) const { return data[at]; }
};

template <class T>
struct MaskedElements {
  static constexpr bool kMasked = true;
  const T* data;
  const bool* mask;
  T operator()(Index at, Index) const { return data[at]; }
  bool counts(Index other) const { return mask[other]; }
};

/// Reduces a piece by a policy. A policy has the types Value and Accumulator, and lift(value),
/// add(accumulator, value), merge(accumulator, right accumulator), identity() as an optional, and
/// kCommutative. It does not know where elements are. It may have block(count, at) for few values
/// at(0), at(1), ...
template <class Policy, class Load>
class PieceReducer {
 public:
  using Accumulator = typename Policy::Accumulator;

  PieceReducer(const Policy& policy, const Load& load, const ReducePiece& piece)
      : policy_(policy), load_(load), reduced_(piece.reduced), kept_(piece.kept) {}

  void run(Accumulator* into) {
    for (const ReduceDimension& dimension : kept_) {
      if (dimension.extent == 0) return;
    }
    const bool empty = std::any_of(reduced_.begin(), reduced_.end(),
                                   [](const ReduceDimension& d) { return d.extent == 0; });
    if (!kept_.empty() &&
        (empty || reduced_.empty() || kept_.back().stride < reduced_.back().stride)) {
      inner_ = kept_.back();
      kept_.pop_back();
      vectors_ = true;
    }
    visit_kept(0, 0, 0, empty, into);
  }

 private:
  static constexpr Index kRows = 8;
  // Adjacent accumulators. They exist on every level of a recursion, so they are on the stack.
  static constexpr Index kWidth =
      std::clamp<Index>((Index{16} << 10) / static_cast<Index>(sizeof(Accumulator)), 1, 256);
  static constexpr Index kLanes = 16;
  // The number of elements that are added one after the other: at most 128, or 32 in each lane.
  static constexpr Index kBlock = Policy::kCommutative && !Load::kMasked ? 32 * kLanes : 128;

  void visit_kept(std::size_t d, Index at, Index other, bool empty, Accumulator*& into) {
    if (d < kept_.size()) {
      for (Index k = 0; k < kept_[d].extent; ++k) {
        visit_kept(d + 1, at + k * kept_[d].stride, other + k * kept_[d].other, empty, into);
      }
    } else if (empty) {
      into = std::fill_n(into, inner_.extent, *policy_.identity());
    } else if (!vectors_) {
      *into++ = tree(0, at, other);
    } else {
      for (Index from = 0; from < inner_.extent; from += kWidth) {
        const Index width = std::min(kWidth, inner_.extent - from);
        rows(0, at + from * inner_.stride, other + from * inner_.other, width, into);
        into += width;
      }
    }
  }

  // Reduces all reduced dimensions from d on.
  Accumulator tree(std::size_t d, Index at, Index other) {
    if (d == reduced_.size()) return lifted(at, other);
    return halves(d, at, other, reduced_[d].extent);
  }

  Accumulator halves(std::size_t d, Index at, Index other, Index count) {
    const ReduceDimension& dimension = reduced_[d];
    const bool last = d + 1 == reduced_.size();
    if (last && count <= kBlock) return block(at, other, count, dimension);
    if (count == 1) return tree(d + 1, at, other);
    const Index left = last ? count / 2 / kLanes * kLanes : count / 2;
    Accumulator result = halves(d, at, other, left);
    policy_.merge(result, halves(d, at + left * dimension.stride, other + left * dimension.other,
                                 count - left));
    return result;
  }

  Accumulator block(Index at, Index other, Index count, const ReduceDimension& dimension) {
    using One = std::integral_constant<Index, 1>;
    if (dimension.stride == 1 && dimension.other == 1) return block(at, other, count, One(), One());
    return block(at, other, count, dimension.stride, dimension.other);
  }

  template <class Stride, class Other>
  Accumulator block(Index at, Index other, Index count, Stride stride, Other other_stride) {
    const auto value = [&](Index k) { return load_(at + k * stride, other + k * other_stride); };
    if constexpr (Load::kMasked) {
      Accumulator result = *policy_.identity();
      for (Index k = 0; k < count; ++k) {
        if (load_.counts(other + k * other_stride)) policy_.add(result, value(k));
      }
      return result;
    } else if constexpr (requires { policy_.block(count, value); }) {
      return policy_.block(count, value);
    } else {
      Index k = 1;
      Accumulator result = policy_.lift(value(0));
      if constexpr (Policy::kCommutative) {
        if (count >= 2 * kLanes) {
          std::array<Accumulator, kLanes> lanes;
          for (Index lane = 0; lane < kLanes; ++lane)
            lanes[static_cast<std::size_t>(lane)] = policy_.lift(value(lane));
          for (k = kLanes; k + kLanes <= count; k += kLanes) {
            for (Index lane = 0; lane < kLanes; ++lane)
              policy_.add(lanes[static_cast<std::size_t>(lane)], value(k + lane));
          }
          for (std::size_t width = kLanes / 2; width > 0; width /= 2) {
            for (std::size_t lane = 0; lane < width; ++lane)
              policy_.merge(lanes[lane], lanes[lane + width]);
          }
          result = lanes[0];
        }
      }
      for (; k < count; ++k) policy_.add(result, value(k));
      return result;
    }
  }

  Accumulator lifted(Index at, Index other) {
    if constexpr (Load::kMasked) {
      if (!load_.counts(other)) return *policy_.identity();
    }
    return policy_.lift(load_(at, other));
  }

  // Does the same for `width` neighbours along the inner kept dimension at once.
  void rows(std::size_t d, Index at, Index other, Index width, Accumulator* into) {
    if (d < reduced_.size()) {
      row_halves(d, at, other, reduced_[d].extent, width, into);
    } else {
      for (Index j = 0; j < width; ++j)
        into[j] = lifted(at + j * inner_.stride, other + j * inner_.other);
    }
  }

  void row_halves(std::size_t d, Index at, Index other, Index count, Index width,
                  Accumulator* into) {
    const ReduceDimension& dimension = reduced_[d];
    if (d + 1 == reduced_.size() && count <= kRows) {
      rows(d + 1, at, other, width, into);
      for (Index k = 1; k < count; ++k)
        add_row(at + k * dimension.stride, other + k * dimension.other, width, into);
      return;
    }
    if (count == 1) return rows(d + 1, at, other, width, into);
    const Index left = count / 2;
    row_halves(d, at, other, left, width, into);
    std::array<Accumulator, kWidth> right;
    row_halves(d, at + left * dimension.stride, other + left * dimension.other, count - left, width,
               right.data());
    for (Index j = 0; j < width; ++j) policy_.merge(into[j], right[static_cast<std::size_t>(j)]);
  }

  void add_row(Index at, Index other, Index width, Accumulator* into) {
    const auto add = [&](auto stride) {
      for (Index j = 0; j < width; ++j) {
        if constexpr (Load::kMasked) {
          if (!load_.counts(other + j * inner_.other)) continue;
        }
        policy_.add(into[j], load_(at + j * stride, other + j * inner_.other));
      }
    };
    if (inner_.stride == 1) {
      add(std::integral_constant<Index, 1>());
    } else {
      add(inner_.stride);
    }
  }

  Policy policy_;
  Load load_;
  std::vector<ReduceDimension> reduced_;
  std::vector<ReduceDimension> kept_;  // except for the inner one
  ReduceDimension inner_{1, 0, 0};
  bool vectors_ = false;
};

template <class Policy>
ReduceFunction reduce_function(const Policy& policy) {
  using Value = typename Policy::Value;
  return [policy](const ReducePiece& piece, const void* source, const bool* mask, void* into) {
    auto* accumulators = static_cast<typename Policy::Accumulator*>(into);
    const auto* values = static_cast<const Value*>(source);
    if (mask == nullptr) {
      PieceReducer(policy, Elements<Value>{values}, piece).run(accumulators);
    } else {
      PieceReducer(policy, MaskedElements<Value>{values, mask}, piece).run(accumulators);
    }
  };
}

/// The policy of a user's operator.
template <class T, class Operation>
struct UserPolicy {
  using Value = T;
  using Accumulator = T;
  static constexpr bool kCommutative = false;
  Operation operation;
  std::optional<T> unit;

  T lift(const T& value) const { return value; }
  void add(T& into, const T& value) const { into = operation(into, value); }
  void merge(T& into, const T& right) const { into = operation(into, right); }
  std::optional<T> identity() const { return unit; }
};

/// Adds products of two operands' elements.
template <class R>
struct DotPolicy {
  using Value = R;
  using Accumulator = R;
  static constexpr bool kCommutative = true;
  R lift(const R& value) const { return value; }
  void add(R& into, const R& value) const { into = wrapping_sum(into, value); }
  void merge(R& into, const R& right) const { add(into, right); }
  std::optional<R> identity() const { return R{}; }
};

template <class T>
inline constexpr bool is_complex = false;
template <class T>
inline constexpr bool is_complex<std::complex<T>> = true;

template <class R, class T>
R converted(const T& value) {
  if constexpr (is_complex<T>) {
    return R(value.real(), value.imag());
  } else {
    return static_cast<R>(value);
  }
}

template <class A, class B, class R, bool kConjugate>
struct Products {
  static constexpr bool kMasked = false;
  const A* left;
  const B* right;
  R operator()(Index at, Index other) const {
    R a = converted<R>(left[at]);
    if constexpr (kConjugate && is_complex<R>) a = std::conj(a);
    const R b = converted<R>(right[other]);
    if constexpr (is_complex<R>) {
      // Without the special cases of infinite parts, which would cost a call for each product.
      return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
    } else {
      return wrapping_product(a, b);
    }
  }
};

/// Computes the sum of the products of two pieces. The strides of the left piece are the piece's
/// strides, those of the right piece are its other strides.
template <class A, class B, class R, bool kConjugate>
void dot_pieces(const ReducePiece& piece, const void* left, const void* right, void* into) {
  const Products<A, B, R, kConjugate> products{static_cast<const A*>(left),
                                               static_cast<const B*>(right)};
  PieceReducer(DotPolicy<R>(), products, piece).run(static_cast<R*>(into));
}

}  // namespace detail
}  // namespace impishim::darray
