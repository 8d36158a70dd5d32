/// Where an array's elements are, on all processes and in this one's memory: what arrays of the
/// same shape and strategy share.
#pragma once

#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "darray/array/core/context.hpp"
#include "darray/array/core/strategy.hpp"
#include "darray/local/strided_view.hpp"
#include "darray/schedule/agree.hpp"

namespace impishim::darray {

using Shape = std::vector<Index>;

/// An immutable layout on a communicator. Arrays of one communicator, shape and strategy share one
/// object, whatever their element types (D2O-07); so the same address means the same layout. The
/// local buffer is row-major, with the distribution's ghosts around the owned elements.
class Layout {
 public:
  /// The layout of a global strategy. Collective over the communicator with checks, else local (but
  /// for a communicator's first array). With checks, `scalar` must also be the same everywhere
  /// (D2O-18).
  /// @throws Error kShape, kLayout as distribution_of(); kArgument if shape, strategy or type
  /// differ between processes.
  static LayoutPtr make(const ContextPtr& context, std::span<const Index> shape,
                        const Strategy& strategy, Checks checks = Checks::kOn,
                        Scalar scalar = Scalar::kOpaque);
  /// freeform: slices of axis 0, this process's of that shape (D2O-04). Collective, also without
  /// checks. @throws Error kShape if there is no axis; kArgument if processes disagree about the
  /// other axes.
  static LayoutPtr make_freeform(const ContextPtr& context, std::span<const Index> local_shape,
                                 Checks checks = Checks::kOn, Scalar scalar = Scalar::kOpaque);
  /// freeform with slices that every process knows: bounds[r] to bounds[r + 1] on process r. Local.
  static LayoutPtr make_slices(const ContextPtr& context, std::vector<Index> bounds,
                               std::span<const Index> shape);

  Layout(ContextPtr context, Strategy strategy, DistributionPtr distribution);

  [[nodiscard]] const ContextPtr& context() const { return context_; }
  [[nodiscard]] const Communicator& communicator() const { return context_->communicator(); }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int processes() const { return communicator().size(); }
  [[nodiscard]] const Strategy& strategy() const { return strategy_; }
  [[nodiscard]] const Distribution& distribution() const { return *distribution_; }
  [[nodiscard]] const DistributionPtr& distribution_ptr() const { return distribution_; }

  [[nodiscard]] const Shape& shape() const { return distribution_->shape(); }
  [[nodiscard]] Index size() const { return distribution_->size(); }
  /// This process's elements. Of an array without axes that is elsewhere: one axis with nothing in
  /// it.
  [[nodiscard]] const Shape& owned_shape() const { return owned_shape_; }
  [[nodiscard]] Index owned_size() const { return owned_size_; }
  /// Extents of this process's buffer: owned elements and ghosts.
  [[nodiscard]] const Shape& buffer_shape() const { return buffer_shape_; }
  [[nodiscard]] Index buffer_size() const { return buffer_size_; }
  /// Of the buffer, in elements.
  [[nodiscard]] const std::vector<Index>& strides() const { return strides_; }
  /// Of the first owned element in the buffer.
  [[nodiscard]] Index offset() const { return offset_; }
  /// Every process of the communicator holds the whole array, in the order of its indices: not of
  /// labels that are dealt out in another order.
  [[nodiscard]] bool is_everywhere() const { return everywhere_; }
  /// An axis is dealt out by labels, which no section or number in row-major order counts.
  [[nodiscard]] bool has_labels() const;
  /// bounds[r] to bounds[r + 1] are the rows of process r, if axis 0 alone is cut, in slices in the
  /// order of the ranks; else nothing. The same on every process.
  [[nodiscard]] std::optional<std::vector<Index>> slice_bounds() const;

  /// Owned elements lie side by side.
  [[nodiscard]] bool is_contiguous() const { return contiguous_; }
  /// Where the owned part's rows (of the last axis) begin in the buffer, in row-major order: none
  /// without elements. Computed when it is first asked for, which is worth it where owned elements
  /// do not lie side by side.
  [[nodiscard]] const std::vector<Index>& row_offsets() const;

  /// For each axis, the global index (or label) of every owned local index.
  [[nodiscard]] std::vector<std::vector<Index>> global_indices() const;

  /// Each process owns the same elements in the same order in both.
  [[nodiscard]] bool aligned(const Layout& other) const {
    return this == &other || distribution_ == other.distribution_ ||
           distribution_->same_pieces(*other.distribution_);
  }

  /// The owned part of a buffer of this layout.
  template <class T>
  [[nodiscard]] StridedView<T> owned(T* buffer) const {
    return {buffer == nullptr ? nullptr : buffer + offset_, owned_shape_, strides_};
  }
  /// All of it.
  template <class T>
  [[nodiscard]] StridedView<T> whole(T* buffer) const {
    return {buffer, buffer_shape_, strides_};
  }

 private:
  ContextPtr context_;
  Strategy strategy_;
  DistributionPtr distribution_;
  int rank_;
  Shape owned_shape_;
  Index owned_size_ = 0;
  Shape buffer_shape_;
  Index buffer_size_ = 0;
  std::vector<Index> strides_;
  Index offset_ = 0;
  bool contiguous_ = true;
  bool everywhere_ = false;
  mutable std::once_flag rows_known_;
  mutable std::vector<Index> row_offsets_;
};

}  // namespace impishim::darray
