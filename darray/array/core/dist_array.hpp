// SPDX-License-Identifier: Apache-2.0
/// An array whose elements are distributed over the processes of a communicator: d2o's distributed
/// data object.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "darray/array/core/layout.hpp"
#include "darray/array/core/local_array.hpp"
#include "darray/array/core/redistribute.hpp"

namespace impishim::darray {

struct ExpressionBase {};
/// The result type of arithmetic with arrays. An expression is computed when it is assigned to an
/// array (array/core/expression.hpp).
template <class E>
concept ArrayExpression = std::is_base_of_v<ExpressionBase, std::remove_cvref_t<E>>;

/// Selects whether data are always copied, or used in place if their type and order allow it
/// (D2O-19).
enum class CopyMode : std::uint8_t { kAlways, kAvoid };

/// The changes that copy_empty() makes. Values that are not set do not change (D2O-51).
struct CopyOptions {
  std::optional<Shape> global_shape = {};
  std::optional<Shape> local_shape = {};  ///< for freeform
  std::optional<Strategy> strategy = {};
  Checks checks = Checks::kOn;
};

/// An array of elements of type T (bool, integers, floating point, std::complex of float or
/// double). It owns its memory or borrows it. All processes of the communicator create, copy,
/// redistribute and destroy arrays together, in the same order. Functions described as local send
/// nothing. Copying an array copies the elements; moving is cheap. Arrays without axes and empty
/// pieces are allowed.
template <class T>
class DistArray {
 public:
  using Value = T;
  static_assert(scalar_of<T>() != Scalar::kOpaque, "no element type of distributed arrays");

  /// Creates no array: for a variable that gets one later. Only assignment and destruction are
  /// allowed.
  DistArray() = default;
  /// Creates an array whose elements are not initialized. Local.
  explicit DistArray(LayoutPtr layout) : DistArray(layout, Storage<T>(layout->buffer_size())) {}
  /// Creates an array in memory of the layout's buffer_size(), which may be borrowed. Local.
  DistArray(LayoutPtr layout, Storage<T> storage, bool hermitian = false)
      : layout_(std::move(layout)),
        storage_(std::move(storage)),
        hermitian_(hermitian),
        id_(librarian().add(this, scalar_of<T>())) {}
  ~DistArray() {
    if (layout_ != nullptr) librarian().remove(id_);
  }

  DistArray(const DistArray& other) : DistArray(other.layout_) {
    std::copy_n(other.data(), layout_->buffer_size(), data());
    hermitian_ = other.hermitian_;
  }
  DistArray(DistArray&& other) noexcept { take(other); }
  /// Copies the elements of another array. This array keeps its layout and its memory if it has the
  /// same shape (see set_full()).
  DistArray& operator=(const DistArray& other) {
    if (this == &other) return *this;
    if (layout_ != nullptr && layout_->shape() == other.shape()) {
      set_full(other);
      hermitian_ = other.hermitian_;
      return *this;
    }
    return *this = DistArray(other);
  }
  DistArray& operator=(DistArray&& other) noexcept {
    if (this != &other) {
      if (layout_ != nullptr) librarian().remove(id_);
      take(other);
    }
    return *this;
  }
  /// Computes an expression, in the layout of its first array. Sends nothing if its arrays are
  /// aligned.
  template <ArrayExpression E>
  DistArray(const E& expression);  // NOLINT: an expression is an array
  /// Computes an expression in this array's layout and memory, without a temporary.
  template <ArrayExpression E>
  DistArray& operator=(const E& expression);

  // Creation. Collective. Without checks it is local, except for the first array of a communicator
  // and for freeform.

  static DistArray empty(MPI_Comm comm, std::span<const Index> shape, const Strategy& strategy = {},
                         Checks checks = Checks::kOn);
  static DistArray zeros(MPI_Comm comm, std::span<const Index> shape, const Strategy& strategy = {},
                         Checks checks = Checks::kOn);
  static DistArray ones(MPI_Comm comm, std::span<const Index> shape, const Strategy& strategy = {},
                        Checks checks = Checks::kOn);
  static DistArray full(MPI_Comm comm, std::span<const Index> shape, T value,
                        const Strategy& strategy = {}, Checks checks = Checks::kOn);
  /// Returns the elements 0, 1, 2, ... in row-major order.
  static DistArray arange(MPI_Comm comm, std::span<const Index> shape,
                          const Strategy& strategy = {}, Checks checks = Checks::kOn);
  /// Sets each element to function(indices), where `indices` is a std::span<const Index> of its
  /// global indices.
  template <class Function>
  static DistArray from_function(MPI_Comm comm, std::span<const Index> shape, Function function,
                                 const Strategy& strategy = {}, Checks checks = Checks::kOn);
  /// Every process passes the whole array and keeps its part. kAvoid borrows the data with strategy
  /// `not`.
  template <class U>
  static DistArray from_global(MPI_Comm comm, const StridedView<U>& data,
                               const Strategy& strategy = {}, Checks checks = Checks::kOn,
                               CopyMode copy = CopyMode::kAlways);
  /// freeform: every process passes its slice of axis 0.
  template <class U>
  static DistArray from_local(MPI_Comm comm, const StridedView<U>& data,
                              Checks checks = Checks::kOn, CopyMode copy = CopyMode::kAlways);
  /// Copies another array to another strategy. With freeform and an array without its own slices,
  /// the slices are those of equal (D2O-16, D2O-52).
  template <class U>
  static DistArray from_array(const DistArray<U>& data, const Strategy& strategy,
                              Checks checks = Checks::kOn);
  /// Uses the whole content of `data` as the local piece of each process: P times the elements
  /// (D2O-16).
  template <class U>
  static DistArray from_array_as_local(const DistArray<U>& data, Checks checks = Checks::kOn);

  // Properties. Local.

  [[nodiscard]] const LayoutPtr& layout() const { return layout_; }
  [[nodiscard]] const Distribution& distribution() const { return layout_->distribution(); }
  [[nodiscard]] const Strategy& strategy() const { return layout_->strategy(); }
  [[nodiscard]] const Communicator& communicator() const { return layout_->communicator(); }
  [[nodiscard]] static Element element() { return element_of<T>(); }
  [[nodiscard]] const Shape& shape() const { return layout_->shape(); }
  [[nodiscard]] int dimensions() const { return static_cast<int>(shape().size()); }
  /// Returns the number of elements of all processes together.
  [[nodiscard]] Index size() const { return layout_->size(); }
  /// Returns the extent of axis 0 (D2O-64). Throws Error(kShape) if there are no axes.
  [[nodiscard]] Index length() const {
    if (shape().empty()) fail(ErrorKind::kShape, "an array without axes has no length");
    return shape()[0];
  }
  [[nodiscard]] const Shape& local_shape() const { return layout_->owned_shape(); }
  [[nodiscard]] Index local_size() const { return layout_->owned_size(); }
  [[nodiscard]] ArrayId id() const { return id_; }
  /// Returns the array with this id on the same communicator; null if it no longer exists (D2O-45).
  /// Throws the errors of ArrayRegistry::find().
  [[nodiscard]] static DistArray* find(MPI_Comm comm, ArrayId id) {
    return static_cast<DistArray*>(Context::of(comm)->librarian().find(id, scalar_of<T>()));
  }
  /// Returns true if each element is the complex conjugate of the one at the mirrored index. The
  /// user promises this; copies keep the flag (D2O-53).
  [[nodiscard]] bool hermitian() const { return hermitian_; }
  void set_hermitian(bool hermitian) { hermitian_ = hermitian; }

  // This process's elements. Local.

  /// Returns the whole buffer, including ghosts: layout()->buffer_size() elements.
  [[nodiscard]] T* data() { return storage_.data(); }
  [[nodiscard]] const T* data() const { return storage_.data(); }
  /// Returns a view of the owned elements.
  [[nodiscard]] StridedView<T> local() { return layout_->owned(data()); }
  [[nodiscard]] StridedView<const T> local() const { return layout_->owned(data()); }
  /// Returns a view of the owned elements and the ghosts around them.
  [[nodiscard]] StridedView<T> padded() { return layout_->whole(data()); }
  [[nodiscard]] StridedView<const T> padded() const { return layout_->whole(data()); }
  /// Returns a copy of the owned elements (D2O-31).
  [[nodiscard]] LocalArray<T> get_local() const { return LocalArray<T>(local()); }
  /// Sets the owned elements. Throws Error(kShape) unless `values` has local_shape().
  template <class U>
  void set_local(const StridedView<U>& values);
  /// Sets all elements of all processes.
  void fill(T value);

  // The whole array. Collective, except where stated otherwise.

  /// Returns the whole array on every process (D2O-30), like d2o's __array__ (D2O-55): P times the
  /// memory.
  [[nodiscard]] LocalArray<T> get_full() const;
  /// Returns the whole array on one process, and nothing on the others. Throws Error(kArgument) if
  /// the process does not exist.
  [[nodiscard]] std::optional<LocalArray<T>> get_full(int target) const;
  /// Sets this process's part of the array, which every process passes as a whole. Local.
  template <class U>
  void set_full(const StridedView<U>& values);
  /// Sets the array to the values of process `root`. The values of the other processes are ignored.
  void set_full(const StridedView<const T>& values, int root);
  /// Sets the elements to those of another array of the same shape. Redistributes them if its
  /// layout differs.
  template <class U>
  void set_full(const DistArray<U>& other, Checks checks = Checks::kOn);

  // Copies (D2O-50 to D2O-53). Local if the strategy does not change.

  template <class U = T>
  [[nodiscard]] DistArray<U> copy() const;
  template <class U = T>
  [[nodiscard]] DistArray<U> copy(const Strategy& strategy, Checks checks = Checks::kOn) const;
  /// Copies to another layout of the same shape. Local if it is aligned with this array's layout.
  template <class U = T>
  [[nodiscard]] DistArray<U> copy_to(const LayoutPtr& layout, Checks checks = Checks::kOn) const {
    DistArray<U> result(layout);
    result.set_full(*this, checks);
    result.set_hermitian(hermitian_);
    return result;
  }
  /// Returns an array with the same layout whose elements are not initialized.
  template <class U = T>
  [[nodiscard]] DistArray<U> copy_empty() const {
    return DistArray<U>(layout_);
  }
  template <class U = T>
  [[nodiscard]] DistArray<U> copy_empty(const CopyOptions& changes) const;
  template <class U>
  [[nodiscard]] DistArray<U> astype() const {
    return copy<U>();
  }
  [[nodiscard]] DistArray<Real<T>> real() const;
  [[nodiscard]] DistArray<Real<T>> imag() const;
  [[nodiscard]] DistArray conj() const;
  /// Returns the elements as one axis, in row-major order. Keeps the strategy if its pieces are the
  /// same; else uses freeform (D2O-54). Pieces that are not slices of axis 0 are first
  /// redistributed to those of equal.
  [[nodiscard]] DistArray flatten() const;

 private:
  [[nodiscard]] ArrayRegistry& librarian() const { return layout_->context()->librarian(); }
  void take(DistArray& other) noexcept {
    layout_ = std::move(other.layout_);
    storage_ = std::move(other.storage_);
    hermitian_ = other.hermitian_;
    id_ = other.id_;
    if (layout_ != nullptr) librarian().moved(id_, this);
  }

  LayoutPtr layout_;
  Storage<T> storage_;
  bool hermitian_ = false;
  ArrayId id_;
};

/// Returns the layout of an array after a change of strategy. Freeform keeps the array's slices, or
/// uses those of equal (D2O-52). With checks, collective.
[[nodiscard]] LayoutPtr layout_for(const Layout& from, const Strategy& strategy, Checks checks,
                                   Scalar scalar);
/// Returns the layout of an array's elements in one axis (D2O-54).
[[nodiscard]] LayoutPtr flat_layout(const Layout& from);
/// Returns the layout of copy_empty().
[[nodiscard]] LayoutPtr changed_layout(const Layout& from, const CopyOptions& changes,
                                       Scalar scalar);
/// Returns the layout in which one process has all elements.
[[nodiscard]] LayoutPtr layout_on_one(const Layout& from, int rank);

}  // namespace impishim::darray

#include "darray/array/core/dist_array_copy.hpp"
#include "darray/array/core/dist_array_create.hpp"
#include "darray/array/core/expression.hpp"
