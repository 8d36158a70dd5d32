// SPDX-License-Identifier: Apache-2.0
/// ScaLAPACK's redistribution as a contestant; without ScaLAPACK, BENCH_WITH_SCALAPACK is not
/// defined.
#pragma once

#include <array>

#include "benchmarks/darray/matrix.hpp"

namespace bench {

/// How one axis is dealt out: blocks over so many processes.
struct Blocks {
  Index block;
  int parts;
};

/// A square in ScaLAPACK's terms. Its matrices are column-major: its columns are axis 0 of a
/// row-major array, its rows axis 1, so that both have the same local buffers. At most one axis is
/// distributed: processes count alike then.
class BlacsMatrix {
 public:
  BlacsMatrix(Index extent, Blocks axis_0, Blocks axis_1);
  BlacsMatrix(const BlacsMatrix&) = delete;
  BlacsMatrix& operator=(const BlacsMatrix&) = delete;
  ~BlacsMatrix();

  /// pdgemr2d of the whole matrix, from buffers in this layout to buffers in the other.
  void copy_to(const BlacsMatrix& other, double* from, double* to) const;

 private:
  int extent_;
  int context_ = 0;
  std::array<int, 9> descriptor_{};
};

}  // namespace bench
