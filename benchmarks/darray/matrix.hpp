// SPDX-License-Identifier: Apache-2.0
/// Arrays of two axes for the benchmarks: memory, and values that tell where they belong.
#pragma once

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "benchmarks/darray/contest.hpp"
#include "darray/index/distribution.hpp"
#include "darray/index/make_distribution.hpp"

namespace bench {

using impishim::darray::Distribution;
using impishim::darray::DistributionOptions;
using impishim::darray::DistributionPtr;
using impishim::darray::Index;

/// Memory for elements, at the beginning of a page and touched.
template <class T = double>
class Buffer {
 public:
  explicit Buffer(Index count)
      : size_(count), data_(static_cast<T*>(std::aligned_alloc(kPage, bytes(count)))) {
    if (data_ == nullptr) throw std::bad_alloc();
    std::fill_n(data_.get(), count, T{});
  }
  [[nodiscard]] T* get() const { return data_.get(); }
  [[nodiscard]] Index size() const { return size_; }
  [[nodiscard]] T* begin() const { return get(); }
  [[nodiscard]] T* end() const { return get() + size_; }
  T& operator[](Index k) const { return get()[k]; }

 private:
  static constexpr std::size_t kPage = 4096;
  static std::size_t bytes(Index count) {
    return std::max<std::size_t>(
               1, (static_cast<std::size_t>(count) * sizeof(T) + kPage - 1) / kPage) *
           kPage;
  }
  struct Free {
    void operator()(T* data) const { std::free(data); }  // NOLINT: of aligned_alloc
  };
  Index size_;
  std::unique_ptr<T, Free> data_;
};

inline DistributionPtr square(Index extent, int processes, const DistributionOptions& options) {
  return impishim::darray::make_distribution(std::array<Index, 2>{extent, extent}, processes,
                                             options);
}

/// visit(offset in the local buffer, row, column) for each owned element of an array of two axes.
template <class Visit>
void for_each_owned(const Distribution& layout, int rank, Visit visit) {
  if (!layout.is_member(rank)) return;
  const std::vector<Index> owned = layout.owned_shape(rank);
  const std::vector<Index> ghosts = layout.owned_offset(rank);
  const Index width = layout.local_shape(rank)[1];
  std::vector<Index> columns(static_cast<std::size_t>(owned[1]));
  for (Index j = 0; j < owned[1]; ++j)
    columns[static_cast<std::size_t>(j)] = layout.axis(1).map.global(layout.part(rank, 1), j);
  for (Index i = 0; i < owned[0]; ++i) {
    const Index row = layout.axis(0).map.global(layout.part(rank, 0), i);
    for (Index j = 0; j < owned[1]; ++j) {
      visit((i + ghosts[0]) * width + j + ghosts[1], row, columns[static_cast<std::size_t>(j)]);
    }
  }
}

/// Every owned element becomes the number of its place in the whole array, row by row.
inline void number_elements(const Distribution& layout, int rank, double* data) {
  const Index width = layout.shape()[1];
  for_each_owned(layout, rank, [&](Index offset, Index row, Index column) {
    data[offset] = static_cast<double>(row * width + column);
  });
}

/// Whether they are that; with `transposed`, in the array of which this is the transpose.
inline bool is_numbered(const Distribution& layout, int rank, const double* data,
                        bool transposed = false) {
  const Index width = layout.shape()[transposed ? 0 : 1];
  bool right = true;
  for_each_owned(layout, rank, [&](Index offset, Index row, Index column) {
    const Index number = transposed ? column * width + row : row * width + column;
    right &= data[offset] == static_cast<double>(number);
  });
  return right;
}

/// Results in `data`, an array in that layout whose elements are to be numbered.
inline Contest::Check numbered(const DistributionPtr& layout, int rank, const Buffer<>& data,
                               bool transposed = false) {
  return {[&data] { std::fill(data.begin(), data.end(), -1.0); },
          [layout, rank, &data, transposed] {
            return is_numbered(*layout, rank, data.get(), transposed);
          }};
}

}  // namespace bench
