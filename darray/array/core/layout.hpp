// SPDX-License-Identifier: Apache-2.0
/// The positions of an array's elements, on all processes and in this process's memory. Arrays of
/// the same shape and strategy share a layout.
#pragma once

#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "darray/array/core/context.hpp"
#include "darray/array/core/strategy.hpp"
#include "darray/communicator/agree.hpp"
#include "darray/local/strided_view.hpp"

namespace impishim::darray {

using Shape = std::vector<Index>;

/// An immutable layout on a communicator. Arrays of one communicator, shape and strategy share one
/// object, for all element types (D2O-07). So the same address means the same layout. The local
/// buffer is row-major, with the distribution's ghosts around the owned elements.
class Layout {
 public:
  /// Returns the layout of a global strategy. Collective over the communicator with checks, else
  /// local (except for a communicator's first array). With checks, `scalar` must also be the same
  /// everywhere (D2O-18). Throws Error(kShape) or Error(kLayout) as distribution_of(). Throws
  /// Error(kArgument) if shape, strategy or type differ between processes.
  static LayoutPtr make(const ContextPtr& context, std::span<const Index> shape,
                        const Strategy& strategy, Checks checks = Checks::kOn,
                        Scalar scalar = Scalar::kOpaque);
  /// Returns a freeform layout: slices of axis 0, where this process's slice has the given shape
  /// (D2O-04). Collective, also without checks. Throws Error(kShape) if there is no axis. Throws
  /// Error(kArgument) if the other axes differ between processes.
  static LayoutPtr make_freeform(const ContextPtr& context, std::span<const Index> local_shape,
                                 Checks checks = Checks::kOn, Scalar scalar = Scalar::kOpaque);
  /// Returns a freeform layout whose slices every process knows: rows bounds[r] to bounds[r + 1] on
  /// process r. Local.
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
  /// Returns the shape of this process's elements. If the array has no axes and is on another
  /// process, the shape is one axis of extent 0.
  [[nodiscard]] const Shape& owned_shape() const { return owned_shape_; }
  [[nodiscard]] Index owned_size() const { return owned_size_; }
  /// Returns the extents of this process's buffer: owned elements and ghosts.
  [[nodiscard]] const Shape& buffer_shape() const { return buffer_shape_; }
  [[nodiscard]] Index buffer_size() const { return buffer_size_; }
  /// Returns the strides of the buffer, in elements.
  [[nodiscard]] const std::vector<Index>& strides() const { return strides_; }
  /// Returns the offset of the first owned element in the buffer.
  [[nodiscard]] Index offset() const { return offset_; }
  /// Returns true if every process of the communicator holds the whole array, in the order of its
  /// indices. Returns false for labels that are distributed in another order.
  [[nodiscard]] bool is_everywhere() const { return everywhere_; }
  /// Returns true if an axis is distributed by labels. Sections and row-major numbers cannot count
  /// labels.
  [[nodiscard]] bool has_labels() const;
  /// Returns the bounds of the slices if only axis 0 is cut, in slices in the order of the ranks.
  /// Process r has the rows bounds[r] to bounds[r + 1]. Else returns nothing. The result is the
  /// same on every process.
  [[nodiscard]] std::optional<std::vector<Index>> slice_bounds() const;

  /// Returns true if the owned elements are contiguous in the buffer.
  [[nodiscard]] bool is_contiguous() const { return contiguous_; }
  /// Returns the offsets in the buffer at which the owned part's rows (of the last axis) begin, in
  /// row-major order. The list is empty without elements. It is computed at the first call; use it
  /// only if the owned elements are not contiguous.
  [[nodiscard]] const std::vector<Index>& row_offsets() const;

  /// Returns, for each axis, the global index (or label) of every owned local index.
  [[nodiscard]] std::vector<std::vector<Index>> global_indices() const;

  /// Returns true if each process owns the same elements in the same order in both layouts.
  [[nodiscard]] bool aligned(const Layout& other) const {
    return this == &other || distribution_ == other.distribution_ ||
           distribution_->same_pieces(*other.distribution_);
  }

  /// Returns a view of the owned part of a buffer of this layout.
  template <class T>
  [[nodiscard]] StridedView<T> owned(T* buffer) const {
    return {buffer == nullptr ? nullptr : buffer + offset_, owned_shape_, strides_};
  }
  /// Returns a view of the whole buffer.
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
