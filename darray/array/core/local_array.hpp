// SPDX-License-Identifier: Apache-2.0
/// An array in one process's memory: the form in which full and local data are returned.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "darray/array/core/element_cast.hpp"
#include "darray/array/core/storage.hpp"
#include "darray/local/strided_view.hpp"

namespace impishim::darray {

/// Elements with any number of axes, row-major, in its own memory. A copy of the object copies the
/// elements.
template <class T>
class LocalArray {
 public:
  LocalArray() : LocalArray(std::vector<Index>{0}) {}
  /// The elements are not initialized.
  explicit LocalArray(std::vector<Index> shape)
      : shape_(std::move(shape)), size_(element_count(shape_)), storage_(size_) {}
  LocalArray(std::vector<Index> shape, T value) : LocalArray(std::move(shape)) {
    std::fill_n(data(), size_, value);
  }
  /// Copies the elements of a view and casts them.
  template <class U>
  explicit LocalArray(const StridedView<U>& view) : LocalArray(view.extents()) {
    T* next = data();
    view.for_each([&](const U& value) { *next++ = element_cast<T>(value); });
  }
  LocalArray(const LocalArray& other) : LocalArray(other.shape_) {
    std::copy_n(other.data(), size_, data());
  }
  LocalArray& operator=(const LocalArray& other) {
    if (this != &other) *this = LocalArray(other);
    return *this;
  }
  LocalArray(LocalArray&& other) noexcept = default;
  LocalArray& operator=(LocalArray&& other) noexcept = default;

  [[nodiscard]] const std::vector<Index>& shape() const { return shape_; }
  [[nodiscard]] Index size() const { return size_; }
  [[nodiscard]] T* data() { return storage_.data(); }
  [[nodiscard]] const T* data() const { return storage_.data(); }
  [[nodiscard]] T* begin() { return data(); }
  [[nodiscard]] T* end() { return data() + size_; }
  [[nodiscard]] const T* begin() const { return data(); }
  [[nodiscard]] const T* end() const { return data() + size_; }
  /// Returns the element at a position in row-major order, unchecked.
  T& operator[](Index position) { return data()[position]; }
  const T& operator[](Index position) const { return data()[position]; }
  [[nodiscard]] StridedView<T> view() { return {data(), shape_}; }
  [[nodiscard]] StridedView<const T> view() const { return {data(), shape_}; }
  /// Returns the only element. Throws Error(kShape) if there are several or none.
  [[nodiscard]] T item() const {
    if (size_ != 1) fail(ErrorKind::kShape, "an array of {} elements is no single value", size_);
    return *data();
  }
  bool operator==(const LocalArray& other) const {
    return shape_ == other.shape_ && std::equal(begin(), end(), other.begin(), other.end());
  }

 private:
  std::vector<Index> shape_;
  Index size_ = 0;
  Storage<T> storage_;
};

}  // namespace impishim::darray
