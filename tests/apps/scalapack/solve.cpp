// SPDX-License-Identifier: Apache-2.0
/// ScaLAPACK on a grid of processes: pdgesv factors and solves a system of 512 equations, on a 2 x
/// 2 grid by rows and on one by columns.
///
/// MPI is begun and ended by BLACS. The residual is computed twice: by ScaLAPACK from a copy of the
/// matrix, and by one process from the solution alone, which Cpdgemr2d brings to it. Every line
/// printed is the same natively and joined.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <vector>

#include "tests/support/check.hpp"
#include "tests/support/content.hpp"

// Neither BLACS nor ScaLAPACK has a header. Fortran's functions want the lengths of strings behind
// their arguments.
extern "C" {
void Cblacs_pinfo(int* rank, int* size);
void Cblacs_get(int context, int what, int* value);
void Cblacs_gridinit(int* context, const char* order, int rows, int columns);
void Cblacs_gridinfo(int context, int* rows, int* columns, int* row, int* column);
void Cblacs_gridexit(int context);
void Cblacs_exit(int keep_mpi);
void Cpdgemr2d(int rows, int columns, double* from, int from_row, int from_column,
               int* from_descriptor, double* to, int to_row, int to_column, int* to_descriptor,
               int context);
int numroc_(const int* elements, const int* block, const int* process, const int* first,
            const int* processes);
void descinit_(int* descriptor, const int* rows, const int* columns, const int* row_block,
               const int* column_block, const int* first_row, const int* first_column,
               const int* context, const int* local_rows, int* info);
void pdgesv_(const int* order, const int* columns, double* a, const int* a_row, const int* a_column,
             const int* a_descriptor, int* pivots, double* b, const int* b_row, const int* b_column,
             const int* b_descriptor, int* info);
void pdgemm_(const char* transpose_a, const char* transpose_b, const int* rows, const int* columns,
             const int* inner, const double* alpha, const double* a, const int* a_row,
             const int* a_column, const int* a_descriptor, const double* b, const int* b_row,
             const int* b_column, const int* b_descriptor, const double* beta, double* c,
             const int* c_row, const int* c_column, const int* c_descriptor);
double pdlange_(const char* norm, const int* rows, const int* columns, const double* a,
                const int* a_row, const int* a_column, const int* a_descriptor, double* work,
                std::size_t norm_length);
}

namespace {

using impishim_test::Random;

constexpr int kOrder = 512;
constexpr int kSides = 3;  // right-hand sides
constexpr int kBlock = 64;
constexpr int kOne = 1;
constexpr int kZero = 0;

/// Elements are made from their indices alone: every process has those of its part, and whoever
/// checks has them all.
double number(std::uint64_t seed) {
  return static_cast<double>(Random(seed).next() >> 11U) * 0x1p-53 - 0.5;
}
double matrix_element(int row, int column) {
  return number(static_cast<std::uint64_t>(row) * kOrder + column);
}
double side_element(int row, int column) {
  return number(0x10000000U + static_cast<std::uint64_t>(row) * kSides + column);
}

class Grid {
 public:
  Grid(const char* order, int rows, int columns) {
    Cblacs_get(-1, 0, &context_);
    Cblacs_gridinit(&context_, order, rows, columns);
    if (context_ >= 0) Cblacs_gridinfo(context_, &rows_, &columns_, &row_, &column_);
  }
  Grid(const Grid&) = delete;
  Grid& operator=(const Grid&) = delete;
  ~Grid() {
    if (has_me()) Cblacs_gridexit(context_);
  }
  [[nodiscard]] bool has_me() const { return context_ >= 0 && row_ >= 0; }
  [[nodiscard]] int context() const { return context_; }
  [[nodiscard]] int row() const { return row_; }
  [[nodiscard]] int column() const { return column_; }
  [[nodiscard]] int local_rows(int all) const {
    return numroc_(&all, &kBlock, &row_, &kZero, &rows_);
  }
  [[nodiscard]] int local_columns(int all) const {
    return numroc_(&all, &kBlock, &column_, &kZero, &columns_);
  }
  [[nodiscard]] int global_row(int local) const {
    return (local / kBlock * rows_ + row_) * kBlock + local % kBlock;
  }
  [[nodiscard]] int global_column(int local) const {
    return (local / kBlock * columns_ + column_) * kBlock + local % kBlock;
  }

 private:
  int context_ = -1;
  int rows_ = -1;
  int columns_ = -1;
  int row_ = -1;
  int column_ = -1;
};

/// This process's part of a matrix that is spread over a grid in blocks. A process that is not in
/// the grid has none.
struct Spread {
  Spread(const Grid& grid, int all_rows, int all_columns) : rows(all_rows), columns(all_columns) {
    descriptor[1] = -1;  // what Cpdgemr2d knows those by that are not in the grid
    if (!grid.has_me()) return;
    local_rows = grid.local_rows(rows);
    values.resize(static_cast<std::size_t>(std::max(1, local_rows)) *
                  std::max(1, grid.local_columns(columns)));
    const int leading = std::max(1, local_rows);
    const int context = grid.context();
    int info = -1;
    descinit_(descriptor.data(), &rows, &columns, &kBlock, &kBlock, &kZero, &kZero, &context,
              &leading, &info);
    REQUIRE_EQUAL(info, 0);
  }

  template <class Element>
  void fill(const Grid& grid, Element&& element) {
    for (int column = 0; column < grid.local_columns(columns); ++column) {
      for (int row = 0; row < local_rows; ++row) {
        values[static_cast<std::size_t>(column) * local_rows + row] =
            element(grid.global_row(row), grid.global_column(column));
      }
    }
  }
  /// The largest sum of absolute values in a row.
  [[nodiscard]] double norm() const {
    std::vector<double> work(static_cast<std::size_t>(std::max(1, local_rows)));
    return pdlange_("I", &rows, &columns, values.data(), &kOne, &kOne, descriptor.data(),
                    work.data(), 1);
  }

  int rows;
  int columns;
  int local_rows = 0;
  std::array<int, 9> descriptor{};
  std::vector<double> values;
};

double scaled(double residual, double matrix, double solution) {
  return residual / (matrix * solution * kOrder * std::numeric_limits<double>::epsilon());
}

/// By ScaLAPACK; `sides` is overwritten. Every process gets the same number.
double residual_of(const Spread& matrix, const Spread& solution, Spread& sides) {
  const double plus = 1;
  const double minus = -1;
  pdgemm_("N", "N", &kOrder, &kSides, &kOrder, &plus, matrix.values.data(), &kOne, &kOne,
          matrix.descriptor.data(), solution.values.data(), &kOne, &kOne,
          solution.descriptor.data(), &minus, sides.values.data(), &kOne, &kOne,
          sides.descriptor.data());
  return scaled(sides.norm(), matrix.norm(), solution.norm());
}

/// By this process alone. `solution`: all of it, by columns.
double residual_of(const std::vector<double>& solution) {
  double matrix_norm = 0;
  double solution_norm = 0;
  double residual_norm = 0;
  for (int row = 0; row < kOrder; ++row) {
    double in_matrix = 0;
    double in_solution = 0;
    double in_residual = 0;
    for (int column = 0; column < kOrder; ++column)
      in_matrix += std::fabs(matrix_element(row, column));
    for (int side = 0; side < kSides; ++side) {
      const double* const x = solution.data() + static_cast<std::ptrdiff_t>(side) * kOrder;
      double sum = -side_element(row, side);
      for (int column = 0; column < kOrder; ++column)
        sum += matrix_element(row, column) * x[column];
      in_residual += std::fabs(sum);
      in_solution += std::fabs(x[row]);
    }
    matrix_norm = std::max(matrix_norm, in_matrix);
    solution_norm = std::max(solution_norm, in_solution);
    residual_norm = std::max(residual_norm, in_residual);
  }
  return scaled(residual_norm, matrix_norm, solution_norm);
}

/// A number that depends on every exchange of rows.
unsigned long long mark_of(const Grid& grid, const std::vector<int>& pivots) {
  unsigned long long mine = 0;
  for (int row = 0; grid.column() == 0 && row < grid.local_rows(kOrder); ++row) {
    const auto exchange = static_cast<std::uint64_t>(grid.global_row(row)) * kOrder +
                          static_cast<std::uint64_t>(pivots[row]);
    mine += Random(exchange).next();
  }
  unsigned long long all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

/// All of `spread` on the first process of a grid of one; nothing elsewhere.
std::vector<double> collected(const Grid& grid, Spread& spread) {
  const Grid single("Row-major", 1, 1);
  Spread whole(single, spread.rows, spread.columns);
  Cpdgemr2d(spread.rows, spread.columns, spread.values.data(), 1, 1, spread.descriptor.data(),
            whole.values.data(), 1, 1, whole.descriptor.data(), grid.context());
  return whole.values;
}

void require_small(double residual, const char* whose) {
  if (residual < 10) return;  // not so: NaN
  std::fprintf(stderr, "the scaled residual of %s is %g\n", whose, residual);
  REQUIRE(residual < 10);
}

void solve_on(const char* order, int rank) {
  const Grid grid(order, 2, 2);
  REQUIRE(grid.has_me());
  Spread matrix(grid, kOrder, kOrder);
  matrix.fill(grid, matrix_element);
  Spread sides(grid, kOrder, kSides);
  sides.fill(grid, side_element);
  Spread factors = matrix;
  Spread solution = sides;
  std::vector<int> pivots(static_cast<std::size_t>(grid.local_rows(kOrder)) + kBlock);
  int info = -1;
  pdgesv_(&kOrder, &kSides, factors.values.data(), &kOne, &kOne, factors.descriptor.data(),
          pivots.data(), solution.values.data(), &kOne, &kOne, solution.descriptor.data(), &info);
  REQUIRE_EQUAL(info, 0);

  require_small(residual_of(matrix, solution, sides), "ScaLAPACK's own check");
  const std::vector<double> whole = collected(grid, solution);
  if (!whole.empty()) require_small(residual_of(whole), "the check by one process");
  const unsigned long long mark = mark_of(grid, pivots);
  if (rank == 0) {
    std::printf(
        "pdgesv, %d x %d in blocks of %d, 2 x 2 grid, %s: pivots %016llx, scaled residual below "
        "10\n",
        kOrder, kOrder, kBlock, order, mark);
  }
}

}  // namespace

int main() {
  int rank = -1;
  int size = -1;
  Cblacs_pinfo(&rank, &size);
  REQUIRE_EQUAL(size, 4);
  solve_on("Row-major", rank);
  solve_on("Column-major", rank);
  Cblacs_exit(0);
  return 0;
}
