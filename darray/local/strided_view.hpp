// SPDX-License-Identifier: Apache-2.0
// A view of a buffer as an array of any rank: pointer, extents, strides. Without MPI.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>
#if defined(__has_include) && __has_include(<mdspan>)
#include <mdspan>
#endif

#include "darray/base/error.hpp"
#include "darray/index/triplet.hpp"
#include "darray/local/patch.hpp"

namespace impishim::darray {

/// Elements of type T in a buffer that the view does not own, addressed by one index for each axis.
/// A copy of a view copies no element. The rank is known at run time; a view without axes has one
/// element. Strides count elements and may be negative.
template <class T>
class StridedView {
 public:
  StridedView() = default;
  /// Creates a row-major view of `data`.
  StridedView(T* data, std::vector<Index> extents)
      : data_(data), extents_(std::move(extents)), strides_(row_major(extents_)) {}
  /// Creates a view with these strides. Errors: kShape when the two lists differ in length.
  StridedView(T* data, std::vector<Index> extents, std::vector<Index> strides)
      : data_(data), extents_(std::move(extents)), strides_(std::move(strides)) {
    if (extents_.size() != strides_.size()) {
      fail(ErrorKind::kShape, "a view has {} extents but {} strides", extents_.size(),
           strides_.size());
    }
  }
  /// Converts a view of variables to a view of constants.
  operator StridedView<const T>() const { return {data_, extents_, strides_}; }

  /// Returns the strides of a row-major buffer of these extents.
  static std::vector<Index> row_major(const std::vector<Index>& extents) {
    std::vector<Index> strides(extents.size(), 1);
    for (std::size_t axis = extents.size(); axis-- > 1;)
      strides[axis - 1] = strides[axis] * extents[axis];
    return strides;
  }

  /// Returns the address of the element whose indices are all 0.
  T* data() const { return data_; }
  int rank() const { return static_cast<int>(extents_.size()); }
  const std::vector<Index>& extents() const { return extents_; }
  const std::vector<Index>& strides() const { return strides_; }
  Index extent(int axis) const { return extents_[static_cast<std::size_t>(axis)]; }
  Index stride(int axis) const { return strides_[static_cast<std::size_t>(axis)]; }
  Index size() const {
    Index size = 1;
    for (Index extent : extents_) size *= extent;
    return size;
  }
  bool empty() const { return size() == 0; }

  /// Returns an element by one index for each axis, unchecked.
  template <class... Indices>
  T& operator()(Indices... indices) const {
    const std::array<Index, sizeof...(Indices)> list{static_cast<Index>(indices)...};
    Index offset = 0;
    for (std::size_t axis = 0; axis < list.size(); ++axis) offset += list[axis] * strides_[axis];
    return data_[offset];
  }
  /// Returns an element, checked. Errors: kShape if the number of indices is not that of the axes,
  /// kKey for an index outside its extent.
  T& at(std::span<const Index> indices) const {
    if (indices.size() != extents_.size()) {
      fail(ErrorKind::kShape, "{} indices for a view of {} axes", indices.size(), extents_.size());
    }
    Index offset = 0;
    for (std::size_t axis = 0; axis < indices.size(); ++axis) {
      if (indices[axis] < 0 || indices[axis] >= extents_[axis]) {
        fail(ErrorKind::kKey, "axis {}: index {} is outside of extent {}", axis, indices[axis],
             extents_[axis]);
      }
      offset += indices[axis] * strides_[axis];
    }
    return data_[offset];
  }

  /// Returns the view of the elements that one triplet for each axis selects. Errors: kShape, kKey.
  StridedView section(const Section& section) const {
    if (section.size() != extents_.size()) {
      fail(ErrorKind::kShape, "a section of {} axes for a view of {}", section.size(),
           extents_.size());
    }
    StridedView part = *this;
    for (std::size_t axis = 0; axis < section.size(); ++axis) {
      const Triplet& wanted = section[axis];
      if (wanted.count > 0) {
        for (Index index : {wanted.start, wanted.last()}) {
          if (index < 0 || index >= extents_[axis]) {
            fail(ErrorKind::kKey, "axis {}: index {} is outside of extent {}", axis, index,
                 extents_[axis]);
          }
        }
        part.data_ += wanted.start * strides_[axis];
      }
      part.extents_[axis] = wanted.count;
      part.strides_[axis] = strides_[axis] * wanted.step;
    }
    return part;
  }
  /// Returns a view whose axis k is axis order[k] of this view. Errors: kArgument unless order is a
  /// permutation.
  StridedView permute(std::span<const int> order) const {
    StridedView result = *this;
    std::vector<bool> taken(extents_.size(), false);
    for (std::size_t axis = 0; axis < order.size(); ++axis) {
      const auto from = static_cast<std::size_t>(order[axis]);
      if (order.size() != extents_.size() || from >= extents_.size() || taken[from]) {
        fail(ErrorKind::kArgument, "axis {}: not a permutation of {} axes", axis, extents_.size());
      }
      taken[from] = true;
      result.extents_[axis] = extents_[from];
      result.strides_[axis] = strides_[from];
    }
    if (order.size() != extents_.size())
      fail(ErrorKind::kArgument, "a permutation of {} axes for {}", order.size(), rank());
    return result;
  }

  /// Returns true if the elements are adjacent in row-major order.
  bool is_contiguous() const { return patch().is_contiguous(); }
  /// Returns the elements as a patch whose offsets count from data().
  Patch patch() const {
    Patch result;
    for (std::size_t axis = 0; axis < extents_.size(); ++axis)
      result.dimensions.push_back({extents_[axis], strides_[axis]});
    return result;
  }
  /// Returns the elements in order. Errors: kShape unless they are contiguous.
  std::span<T> span() const {
    if (!is_contiguous())
      fail(ErrorKind::kShape, "a view whose elements do not lie side by side is no span");
    return {data_, static_cast<std::size_t>(size())};
  }
#if defined(__cpp_lib_mdspan)
  /// Returns the view as the standard's view of a fixed rank. Errors: kShape when the rank differs.
  template <std::size_t Rank>
  auto mdspan() const {
    if (Rank != extents_.size())
      fail(ErrorKind::kShape, "a view of {} axes is no mdspan of {}", rank(), Rank);
    std::array<Index, Rank> extents, strides;
    for (std::size_t axis = 0; axis < Rank; ++axis) {
      extents[axis] = extents_[axis];
      strides[axis] = strides_[axis];
    }
    using Extents = std::dextents<Index, Rank>;
    return std::mdspan<T, Extents, std::layout_stride>(
        data_, std::layout_stride::mapping<Extents>(Extents(extents), strides));
  }
#endif

  /// Calls `visit(element)` for each element in row-major order.
  template <class Visit>
  void for_each(Visit visit) const {
    if (!empty()) visit_from(0, data_, visit);
  }

 private:
  template <class Visit>
  void visit_from(std::size_t axis, T* data, Visit& visit) const {
    if (axis == extents_.size()) {
      visit(*data);
      return;
    }
    for (Index k = 0; k < extents_[axis]; ++k)
      visit_from(axis + 1, data + k * strides_[axis], visit);
  }

  T* data_ = nullptr;
  std::vector<Index> extents_;
  std::vector<Index> strides_;
};

}  // namespace impishim::darray
