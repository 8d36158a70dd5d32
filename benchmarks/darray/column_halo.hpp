// SPDX-License-Identifier: Apache-2.0
/// What a halo exchange is compared with: columns of a square on every rank, swapped with both
/// neighbours of a ring.
#pragma once

#include <array>

#include "benchmarks/darray/exchange.hpp"

namespace bench {

/// A row-major buffer of `height` rows, each `width` ghosts, `height` owned cells and `width`
/// ghosts again. The ranks stand side by side and form a ring.
struct ColumnHalo {
  Index height;
  Index width;
  [[nodiscard]] Index stride() const { return height + 2 * width; }
  [[nodiscard]] Index cells() const { return height * stride(); }
  // First columns of what is sent to the left and to the right, and of the ghosts there.
  [[nodiscard]] std::array<Index, 2> edges() const { return {width, height}; }
  [[nodiscard]] std::array<Index, 2> ghosts() const { return {0, height + width}; }
};

/// Packed by hand, with persistent requests.
class PackedHalo {
 public:
  PackedHalo(const Setting& setting, ColumnHalo shape);
  PackedHalo(const PackedHalo&) = delete;
  PackedHalo& operator=(const PackedHalo&) = delete;
  ~PackedHalo();
  void run(double* cells);

 private:
  ColumnHalo shape_;
  Buffer<> sent_, received_;               // left, then right
  std::array<MPI_Request, 4> requests_{};  // receives from left and right, sends to left and right
};

/// Isend and Irecv of committed subarray types.
class TypedHalo {
 public:
  TypedHalo(const Setting& setting, ColumnHalo shape);
  void run(double* cells);

 private:
  const Setting& setting_;
  Types edges_, ghosts_;
};

}  // namespace bench
