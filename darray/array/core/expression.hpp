// SPDX-License-Identifier: Apache-2.0
/// Expressions with arrays. They are stored as written and computed in one loop at assignment,
/// without temporaries. No message is sent if the layouts of their arrays are aligned (D2O-60 to
/// D2O-62).
#pragma once

#include <memory>
#include <tuple>
#include <utility>

#include "darray/array/core/dist_array.hpp"
#include "darray/array/core/local_copy.hpp"
#include "darray/array/core/promote.hpp"

/// Tells the compiler that the rounds of the loop below do not depend on each other.
#ifdef __clang__
#define IMPISHIM_INDEPENDENT_ROUNDS _Pragma("clang loop vectorize(assume_safety)")
#else
#define IMPISHIM_INDEPENDENT_ROUNDS _Pragma("GCC ivdep")
#endif

namespace impishim::darray {

// An expression E has a type Value, layout() (that of its first array, or null), hermitian() and
// bind(layout). bind() returns the values in the order of that layout: an object with
// is_contiguous(), overlaps() and row(). A row returns values by operator[].

namespace detail {

/// Returns the offset in the buffer at which a row of `length` elements begins.
inline Index row_start(const Layout& layout, Index row, Index length) {
  if (layout.is_contiguous()) return layout.offset() + row * length;
  return layout.row_offsets()[static_cast<std::size_t>(row)];
}

/// Returns true if the arrays can be combined element by element without a message. If their shapes
/// differ, only their local shapes are compared, which must then be equal on every process.
/// Collective if the shapes differ. Throws Error(kLayout) or Error(kShape).
bool meets_in_place(const Layout& target, const Layout& other);

/// An array's elements in the order of another layout.
template <class T>
class BoundArray {
 public:
  BoundArray(const Layout& target, const DistArray<T>& array)
      : layout_(array.layout().get()), data_(array.data()) {
    if (layout_ == &target || meets_in_place(target, *layout_)) return;
    LocalArray<T> here(Shape{target.buffer_size()});
    redistribute(target, here.data(), *layout_, data_, element_of<T>());
    moved_ = std::make_shared<const LocalArray<T>>(std::move(here));
    layout_ = &target;
    data_ = moved_->data();
  }
  [[nodiscard]] bool is_contiguous() const { return layout_->is_contiguous(); }
  [[nodiscard]] const T* row(Index row, Index length) const {
    return data_ + row_start(*layout_, row, length);
  }
  /// Returns true if elements would be written before they are read: the memory overlaps, but not
  /// element by element.
  template <class U>
  [[nodiscard]] bool overlaps(const Layout& target, const U* data) const {
    if (!memory_of(data_, layout_->buffer_size()).meets(memory_of(data, target.buffer_size())))
      return false;
    if constexpr (std::is_same_v<T, U>) {
      const bool alike =
          layout_->strides() == target.strides() && layout_->offset() == target.offset();
      return data_ != data || (layout_ != &target && !alike);
    }
    return true;
  }

 private:
  const Layout* layout_;
  const T* data_;
  std::shared_ptr<const LocalArray<T>> moved_;
};

/// A row with the same value at every position.
template <class T>
struct Constant {
  T value;
  T operator[](Index) const { return value; }
};

template <class T>
struct BoundScalar {
  T value;
  [[nodiscard]] bool is_contiguous() const { return true; }
  [[nodiscard]] Constant<T> row(Index, Index) const { return {value}; }
  template <class U>
  [[nodiscard]] bool overlaps(const Layout&, const U*) const {
    return false;
  }
};

template <class Operation, class... Rows>
struct NodeRow {
  [[no_unique_address]] Operation operation;
  std::tuple<Rows...> rows;
  auto operator[](Index k) const {
    return std::apply([&](const Rows&... row) { return operation(row[k]...); }, rows);
  }
};

template <class Operation, class... Bound>
struct BoundNode {
  [[no_unique_address]] Operation operation;
  std::tuple<Bound...> operands;
  [[nodiscard]] bool is_contiguous() const {
    return std::apply([](const Bound&... each) { return (each.is_contiguous() && ...); }, operands);
  }
  [[nodiscard]] auto row(Index row, Index length) const {
    return std::apply(
        [&](const Bound&... each) {
          return NodeRow<Operation, decltype(each.row(row, length))...>{operation,
                                                                        {each.row(row, length)...}};
        },
        operands);
  }
  template <class U>
  [[nodiscard]] bool overlaps(const Layout& target, const U* data) const {
    return std::apply([&](const Bound&... each) { return (each.overlaps(target, data) || ...); },
                      operands);
  }
};

}  // namespace detail

/// An array as an operand: a reference to a variable, or a temporary that the expression keeps.
template <class T>
class ArrayOperand : public ExpressionBase {
 public:
  using Value = T;
  explicit ArrayOperand(const DistArray<T>& array) : array_(&array) {}
  explicit ArrayOperand(DistArray<T>&& array)
      : kept_(std::make_shared<const DistArray<T>>(std::move(array))), array_(kept_.get()) {}
  [[nodiscard]] const LayoutPtr* layout() const { return &array_->layout(); }
  [[nodiscard]] bool hermitian() const { return array_->hermitian(); }
  [[nodiscard]] detail::BoundArray<T> bind(const Layout& target) const { return {target, *array_}; }

 private:
  std::shared_ptr<const DistArray<T>> kept_;
  const DistArray<T>* array_;
};

template <class T>
struct ScalarOperand : ExpressionBase {
  using Value = T;
  explicit ScalarOperand(T scalar) : value(scalar) {}
  [[nodiscard]] const LayoutPtr* layout() const { return nullptr; }
  [[nodiscard]] bool hermitian() const {
    if constexpr (kIsComplex<T>) return value.imag() == 0;
    return true;
  }
  [[nodiscard]] detail::BoundScalar<T> bind(const Layout&) const { return {value}; }
  T value;
};

/// Global data that every process has. Each process uses its own part.
template <class T>
struct GlobalOperand : ExpressionBase {
  using Value = T;
  explicit GlobalOperand(StridedView<const T> data) : view(std::move(data)) {}
  [[nodiscard]] const LayoutPtr* layout() const { return nullptr; }
  [[nodiscard]] bool hermitian() const { return false; }
  [[nodiscard]] auto bind(const Layout& target) const;
  StridedView<const T> view;
};

namespace detail {
/// Returns true if the result of the operation carries the hermitian flag.
template <class Operation, class... Operands>
bool keeps_hermitian(const Operands&... operands) {
  if (!(operands.hermitian() && ...)) return false;
  if constexpr (requires { Operation::keeps_hermitian(operands...); }) {
    return Operation::keeps_hermitian(operands...);
  } else {
    return Operation::kKeepsHermitian;
  }
}
}  // namespace detail

/// An operation and its operands. Operation is a function object on their values, with a member
/// kKeepsHermitian.
template <class Operation, class... Operands>
class Node : public ExpressionBase {
 public:
  using Value = std::remove_cvref_t<
      std::invoke_result_t<const Operation&, const typename Operands::Value&...>>;
  explicit Node(Operation operation, Operands... operands)
      : operation_(std::move(operation)), operands_(std::move(operands)...) {}
  [[nodiscard]] const LayoutPtr* layout() const {
    const LayoutPtr* first = nullptr;
    std::apply(
        [&](const Operands&... each) {
          static_cast<void>(((first = each.layout(), first != nullptr) || ...));
        },
        operands_);
    return first;
  }
  [[nodiscard]] bool hermitian() const {
    return std::apply(
        [](const Operands&... each) { return detail::keeps_hermitian<Operation>(each...); },
        operands_);
  }
  [[nodiscard]] auto bind(const Layout& target) const {
    return std::apply(
        [&](const Operands&... each) {
          // Uses braces so that operands are bound in order, because binding may be collective.
          return detail::BoundNode<Operation, decltype(each.bind(target))...>{
              operation_, {each.bind(target)...}};
        },
        operands_);
  }

 private:
  [[no_unique_address]] Operation operation_;
  std::tuple<Operands...> operands_;
};

namespace detail {

template <class T>
struct BoundGlobal {
  std::shared_ptr<const LocalArray<T>> part;
  [[nodiscard]] bool is_contiguous() const { return true; }
  [[nodiscard]] const T* row(Index row, Index length) const { return part->data() + row * length; }
  template <class U>
  [[nodiscard]] bool overlaps(const Layout&, const U*) const {
    return false;
  }
};

/// Evaluates one row. The target may be an operand, element by element, but must not overlap the
/// operands in any other way.
template <class T, class Row>
void store_row(T* target, const Row& row, Index count) {
  IMPISHIM_INDEPENDENT_ROUNDS
  for (Index k = 0; k < count; ++k) target[k] = element_cast<T>(row[k]);
}

/// Evaluates target = operation(target, row).
template <class Operation, class T, class Row>
void update_row(T* target, const Row& row, Index count) {
  const Operation operation;
  IMPISHIM_INDEPENDENT_ROUNDS
  for (Index k = 0; k < count; ++k) target[k] = element_cast<T>(operation(target[k], row[k]));
}

/// Calls visit(target row, operands' row, count) for all owned elements.
template <class T, class Bound, class Visit>
void for_bound_rows(const Layout& layout, T* data, const Bound& bound, Visit visit) {
  if (layout.owned_size() == 0) return;
  if (layout.is_contiguous() && bound.is_contiguous()) {
    visit(data + layout.offset(), bound.row(0, layout.owned_size()), layout.owned_size());
    return;
  }
  const Index length = layout.owned_shape().back();
  const Index rows = layout.owned_size() / length;
  for (Index row = 0; row < rows; ++row)
    visit(data + row_start(layout, row, length), bound.row(row, length), length);
}

template <class T, class E>
void evaluate(const Layout& layout, T* data, const E& expression) {
  const auto store = [](T* target, const auto& row, Index count) { store_row(target, row, count); };
  const auto bound = expression.bind(layout);
  if (!bound.overlaps(layout, data)) {
    for_bound_rows(layout, data, bound, store);
    return;
  }
  LocalArray<T> apart(Shape{layout.buffer_size()});
  for_bound_rows(layout, apart.data(), bound, store);
  assign_view(layout.owned(data), std::as_const(layout).owned(apart.data()));
}

/// Evaluates array = operation(array, expression), with the array's type.
template <class Operation, class T, class E>
void update(DistArray<T>& array, const E& expression) {
  const Layout& layout = *array.layout();
  const auto bound = expression.bind(layout);
  if (bound.overlaps(layout, array.data())) {
    evaluate(layout, array.data(),
             Node<Operation, ArrayOperand<T>, E>(Operation(), ArrayOperand<T>(array), expression));
  } else {
    for_bound_rows(layout, array.data(), bound, [](T* target, const auto& row, Index count) {
      update_row<Operation>(target, row, count);
    });
  }
  array.set_hermitian(keeps_hermitian<Operation>(ArrayOperand<T>(array), expression));
}

}  // namespace detail

template <class T>
auto GlobalOperand<T>::bind(const Layout& target) const {
  auto part = std::make_shared<LocalArray<T>>(Shape{target.buffer_size()});
  const auto cut = [&] { cut_own_part(target, part->data(), view); };
  if (target.has_labels()) {
    agreed(target.communicator(), Checks::kOn, "expression with global data",
           cut);  // only some processes may have a label that the data lack
  } else {
    cut();
  }
  LocalArray<T> owned(std::as_const(target).owned(part->data()));
  return detail::BoundGlobal<T>{std::make_shared<const LocalArray<T>>(std::move(owned))};
}

/// Deduces that DistArray(expression) has the type of the expression's values.
template <ArrayExpression E>
DistArray(const E&) -> DistArray<typename E::Value>;

template <class T>
template <ArrayExpression E>
DistArray<T>::DistArray(const E& expression) : DistArray(*expression.layout()) {
  detail::evaluate(*layout_, data(), expression);
  hermitian_ = expression.hermitian();
}

template <class T>
template <ArrayExpression E>
DistArray<T>& DistArray<T>::operator=(const E& expression) {
  if (layout_ == nullptr) return *this = DistArray(expression);
  detail::evaluate(*layout_, data(), expression);
  hermitian_ = expression.hermitian();
  return *this;
}

}  // namespace impishim::darray
