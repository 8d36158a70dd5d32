// SPDX-License-Identifier: Apache-2.0
// What the programs with arrays have in common.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "darray/array.hpp"
#include "darray/index/make_distribution.hpp"
#include "tests/mpi/darray/checks.hpp"

namespace checks {

using impishim::darray::DistArray;
using impishim::darray::Index;
using impishim::darray::LocalArray;
using impishim::darray::Shape;
using impishim::darray::StridedView;

/// Runs `body(comm)` on the first `count` processes, for every count up to 4.
inline void on_every_size(const std::function<void(MPI_Comm)>& body) {
  for (int count = 1; count <= 4 && count <= size; ++count) {
    MPI_Comm some = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank < count ? 0 : MPI_UNDEFINED, rank, &some);
    if (some == MPI_COMM_NULL) continue;
    body(some);
    MPI_Comm_free(&some);
  }
}

/// Runs `body(comm)` on the first `count` processes if there are so many.
inline void on(int count, const std::function<void(MPI_Comm)>& body) {
  if (count > size) return;
  MPI_Comm some = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank < count ? 0 : MPI_UNDEFINED, rank, &some);
  if (some == MPI_COMM_NULL) return;
  body(some);
  MPI_Comm_free(&some);
}

/// Values in row-major order as a local array.
template <class T>
LocalArray<T> local(Shape shape, const std::vector<T>& values) {
  LocalArray<T> result(std::move(shape));
  for (Index k = 0; k < result.size(); ++k) result[k] = values[static_cast<std::size_t>(k)];
  return result;
}

template <class T>
bool is(const LocalArray<T>& array, const Shape& shape, const std::vector<T>& values) {
  return array.shape() == shape && array == local(shape, values);
}

/// Whether the whole array is this.
template <class T>
bool is(const DistArray<T>& array, const Shape& shape, const std::vector<T>& values) {
  return is(array.get_full(), shape, values);
}

/// Whether this process's piece is this.
template <class T>
bool has(const DistArray<T>& array, const Shape& shape, const std::vector<T>& values) {
  return is(array.get_local(), shape, values);
}

inline int rank_in(MPI_Comm comm) {
  int mine = -1;
  MPI_Comm_rank(comm, &mine);
  return mine;
}

inline int size_of(MPI_Comm comm) {
  int all = -1;
  MPI_Comm_size(comm, &all);
  return all;
}

/// Ways to lay an array out: whole, in slices, on one process, with halos and otherwise. Ways that
/// deal axes out are left away where there are none.
inline std::vector<impishim::darray::Strategy> strategies(const Shape& shape, int processes) {
  using namespace impishim::darray;
  std::vector<Strategy> all{kNot, kEqual, kFftw, make_on_one(shape, processes - 1)};
  if (shape.empty()) return all;
  const auto last = static_cast<int>(shape.size()) - 1;
  all.emplace_back(make_distribution(shape, processes, {.kinds = "c"}));
  all.emplace_back(make_distribution(shape, processes, {.kinds = std::string(shape.size(), 'b')}));
  if (last > 0) all.emplace_back(make_distribution(shape, processes, {.kinds = "nb"}));
  all.emplace_back(
      make_distribution(shape, processes, {.kinds = "e", .ghosts = {{0, {1, 2}}, {last, {2, 1}}}}));
  return all;
}

}  // namespace checks
