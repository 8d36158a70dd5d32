/// An array whose elements lie on the processes of a communicator: d2o's distributed data object.
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
/// What arithmetic with arrays gives: it is computed when it is assigned to an array
/// (array/expression.hpp).
template <class E>
concept ArrayExpression = std::is_base_of_v<ExpressionBase, std::remove_cvref_t<E>>;

/// Whether data are copied in any case, or used where they are if their type and order allow it
/// (D2O-19).
enum class CopyMode : std::uint8_t { kAlways, kAvoid };

/// What copy_empty() changes; what is not given stays (D2O-51).
struct CopyOptions {
  std::optional<Shape> global_shape = {};
  std::optional<Shape> local_shape = {};  ///< for freeform
  std::optional<Strategy> strategy = {};
  Checks checks = Checks::kOn;
};

/// An array of elements of type T (bool, integers, floating point, std::complex of float or
/// double). It has its memory, or borrows it. All processes of the communicator create, copy,
/// redistribute and destroy arrays together, in the same order; whatever else is said to be local
/// sends nothing. Copying copies the elements, moving is cheap. Zero axes and empty pieces are
/// ordinary.
template <class T>
class DistArray {
 public:
  using Value = T;
  static_assert(scalar_of<T>() != Scalar::kOpaque, "no element type of distributed arrays");

  /// No array: for a variable that gets one later. Only assignment and destruction are allowed.
  DistArray() = default;
  /// Elements not set to anything. Local.
  explicit DistArray(LayoutPtr layout) : DistArray(layout, Storage<T>(layout->buffer_size())) {}
  /// In memory of that layout's buffer_size(), for instance lent. Local.
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
  /// The elements of another array: this one keeps its layout and its memory if it has any (as
  /// set_full()).
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
  /// The value of an expression, in the layout of its first array. Sends nothing if its arrays are
  /// aligned.
  template <ArrayExpression E>
  DistArray(const E& expression);  // NOLINT: an expression is an array
  /// The same, in this array's layout and memory, without a temporary.
  template <ArrayExpression E>
  DistArray& operator=(const E& expression);

  // Creation. Collective; without checks they are local, but for the first array of a communicator
  // and for freeform.

  static DistArray empty(MPI_Comm comm, std::span<const Index> shape, const Strategy& strategy = {},
                         Checks checks = Checks::kOn);
  static DistArray zeros(MPI_Comm comm, std::span<const Index> shape, const Strategy& strategy = {},
                         Checks checks = Checks::kOn);
  static DistArray ones(MPI_Comm comm, std::span<const Index> shape, const Strategy& strategy = {},
                        Checks checks = Checks::kOn);
  static DistArray full(MPI_Comm comm, std::span<const Index> shape, T value,
                        const Strategy& strategy = {}, Checks checks = Checks::kOn);
  /// 0, 1, 2, ... in row-major order.
  static DistArray arange(MPI_Comm comm, std::span<const Index> shape,
                          const Strategy& strategy = {}, Checks checks = Checks::kOn);
  /// function(indices) for each element, `indices` a std::span<const Index> of its global ones.
  template <class Function>
  static DistArray from_function(MPI_Comm comm, std::span<const Index> shape, Function function,
                                 const Strategy& strategy = {}, Checks checks = Checks::kOn);
  /// Every process gives the whole array and keeps its part of it. kAvoid borrows, with `not`.
  template <class U>
  static DistArray from_global(MPI_Comm comm, const StridedView<U>& data,
                               const Strategy& strategy = {}, Checks checks = Checks::kOn,
                               CopyMode copy = CopyMode::kAlways);
  /// freeform: every process gives its slice of axis 0.
  template <class U>
  static DistArray from_local(MPI_Comm comm, const StridedView<U>& data,
                              Checks checks = Checks::kOn, CopyMode copy = CopyMode::kAlways);
  /// The data of another array in another strategy; with freeform and no slices of its own, those
  /// of equal (D2O-16, D2O-52).
  template <class U>
  static DistArray from_array(const DistArray<U>& data, const Strategy& strategy,
                              Checks checks = Checks::kOn);
  /// The whole content of `data` as the local piece of each process: P times the elements (D2O-16).
  template <class U>
  static DistArray from_array_as_local(const DistArray<U>& data, Checks checks = Checks::kOn);

  // What it is. Local.

  [[nodiscard]] const LayoutPtr& layout() const { return layout_; }
  [[nodiscard]] const Distribution& distribution() const { return layout_->distribution(); }
  [[nodiscard]] const Strategy& strategy() const { return layout_->strategy(); }
  [[nodiscard]] const Communicator& communicator() const { return layout_->communicator(); }
  [[nodiscard]] static Element element() { return element_of<T>(); }
  [[nodiscard]] const Shape& shape() const { return layout_->shape(); }
  [[nodiscard]] int dimensions() const { return static_cast<int>(shape().size()); }
  /// The number of elements, of all processes together.
  [[nodiscard]] Index size() const { return layout_->size(); }
  /// The extent of axis 0 (D2O-64). @throws Error kShape without axes.
  [[nodiscard]] Index length() const {
    if (shape().empty()) fail(ErrorKind::kShape, "an array without axes has no length");
    return shape()[0];
  }
  [[nodiscard]] const Shape& local_shape() const { return layout_->owned_shape(); }
  [[nodiscard]] Index local_size() const { return layout_->owned_size(); }
  [[nodiscard]] ArrayId id() const { return id_; }
  /// The array of that id on the same communicator; null if there is none any more (D2O-45).
  /// @throws as Librarian::find().
  [[nodiscard]] static DistArray* find(MPI_Comm comm, ArrayId id) {
    return static_cast<DistArray*>(Context::of(comm)->librarian().find(id, scalar_of<T>()));
  }
  /// Each element is the complex conjugate of the one at the mirrored index: a promise of the user,
  /// passed on (D2O-53).
  [[nodiscard]] bool hermitian() const { return hermitian_; }
  void set_hermitian(bool hermitian) { hermitian_ = hermitian; }

  // This process's elements. Local.

  /// The whole buffer, ghosts included: layout()->buffer_size() elements.
  [[nodiscard]] T* data() { return storage_.data(); }
  [[nodiscard]] const T* data() const { return storage_.data(); }
  /// Owned elements, by reference.
  [[nodiscard]] StridedView<T> local() { return layout_->owned(data()); }
  [[nodiscard]] StridedView<const T> local() const { return layout_->owned(data()); }
  /// Owned elements and the ghosts around them, by reference.
  [[nodiscard]] StridedView<T> padded() { return layout_->whole(data()); }
  [[nodiscard]] StridedView<const T> padded() const { return layout_->whole(data()); }
  /// A copy (D2O-31).
  [[nodiscard]] LocalArray<T> get_local() const { return LocalArray<T>(local()); }
  /// @throws Error kShape unless it has local_shape().
  template <class U>
  void set_local(const StridedView<U>& values);
  /// All elements of all processes.
  void fill(T value);

  // The whole array. Collective, except where it says otherwise.

  /// On every process (D2O-30); also what d2o's __array__ gives (D2O-55): P times the memory.
  [[nodiscard]] LocalArray<T> get_full() const;
  /// On one process; nothing on the others. @throws Error kArgument for a process that is not
  /// there.
  [[nodiscard]] std::optional<LocalArray<T>> get_full(int target) const;
  /// Every process gives the whole. Local.
  template <class U>
  void set_full(const StridedView<U>& values);
  /// Process `root` gives the whole; what the others pass does not count.
  void set_full(const StridedView<const T>& values, int root);
  /// From another array of the same shape; redistributed if its layout is another.
  template <class U>
  void set_full(const DistArray<U>& other, Checks checks = Checks::kOn);

  // Copies (D2O-50 to D2O-53). Local if the strategy stays.

  template <class U = T>
  [[nodiscard]] DistArray<U> copy() const;
  template <class U = T>
  [[nodiscard]] DistArray<U> copy(const Strategy& strategy, Checks checks = Checks::kOn) const;
  /// In that layout of the same shape. Local if it is aligned with this one's.
  template <class U = T>
  [[nodiscard]] DistArray<U> copy_to(const LayoutPtr& layout, Checks checks = Checks::kOn) const {
    DistArray<U> result(layout);
    result.set_full(*this, checks);
    result.set_hermitian(hermitian_);
    return result;
  }
  /// The same layout, elements not set.
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
  /// One axis, in row-major order. Same strategy if its pieces are the same; else freeform
  /// (D2O-54). Pieces that are no slices of axis 0 become those of equal first.
  [[nodiscard]] DistArray flatten() const;

 private:
  [[nodiscard]] Librarian& librarian() const { return layout_->context()->librarian(); }
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

/// The layout that an array has after a change of strategy: freeform takes its slices, or those of
/// equal (D2O-52). With checks, collective.
[[nodiscard]] LayoutPtr layout_for(const Layout& from, const Strategy& strategy, Checks checks,
                                   Scalar scalar);
/// The layout of an array's elements in one axis (D2O-54).
[[nodiscard]] LayoutPtr flat_layout(const Layout& from);
/// The layout of copy_empty().
[[nodiscard]] LayoutPtr changed_layout(const Layout& from, const CopyOptions& changes,
                                       Scalar scalar);
/// The layout in which one process has everything.
[[nodiscard]] LayoutPtr layout_on_one(const Layout& from, int rank);

}  // namespace impishim::darray

#include "darray/array/core/dist_array_copy.hpp"
#include "darray/array/core/dist_array_create.hpp"
#include "darray/array/core/expression.hpp"
