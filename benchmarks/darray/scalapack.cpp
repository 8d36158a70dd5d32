// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/darray/scalapack.hpp"

#include <algorithm>

// Neither BLACS nor ScaLAPACK has a header.
extern "C" {
void Cblacs_get(int context, int what, int* value);
void Cblacs_gridinit(int* context, const char* order, int rows, int columns);
void Cblacs_gridinfo(int context, int* rows, int* columns, int* row, int* column);
void Cblacs_gridexit(int context);
void Cpdgemr2d(int rows, int columns, double* from, int from_row, int from_column,
               int* from_descriptor, double* to, int to_row, int to_column, int* to_descriptor,
               int context);
int numroc_(const int* elements, const int* block, const int* process, const int* first,
            const int* processes);
void descinit_(int* descriptor, const int* rows, const int* columns, const int* row_block,
               const int* column_block, const int* first_row, const int* first_column,
               const int* context, const int* local_rows, int* info);
}

namespace bench {

BlacsMatrix::BlacsMatrix(Index extent, Blocks axis_0, Blocks axis_1)
    : extent_(static_cast<int>(extent)) {
  Cblacs_get(-1, 0, &context_);
  Cblacs_gridinit(&context_, "R", axis_1.parts, axis_0.parts);
  int rows = 0;
  int columns = 0;
  int row = 0;
  int column = 0;
  Cblacs_gridinfo(context_, &rows, &columns, &row, &column);
  const int zero = 0;
  const auto row_block = static_cast<int>(axis_1.block);
  const auto column_block = static_cast<int>(axis_0.block);
  const int local_rows = std::max(1, numroc_(&extent_, &row_block, &row, &zero, &rows));
  int info = 0;
  descinit_(descriptor_.data(), &extent_, &extent_, &row_block, &column_block, &zero, &zero,
            &context_, &local_rows, &info);
  if (info != 0) give_up("ScaLAPACK refuses a descriptor");
}

BlacsMatrix::~BlacsMatrix() { Cblacs_gridexit(context_); }

void BlacsMatrix::copy_to(const BlacsMatrix& other, double* from, double* to) const {
  // The descriptors are read only; ScaLAPACK's prototypes do not say so.
  Cpdgemr2d(extent_, extent_, from, 1, 1, const_cast<int*>(descriptor_.data()), to, 1, 1,
            const_cast<int*>(other.descriptor_.data()), context_);
}

}  // namespace bench
