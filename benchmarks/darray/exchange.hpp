// SPDX-License-Identifier: Apache-2.0
/// What darray is compared with when rows become columns: the exchange as one would write it by
/// hand, and as MPI offers it.
#pragma once

#include <mpi.h>

#include <vector>

#include "benchmarks/darray/matrix.hpp"

namespace bench {

/// Sending and receiving requests and types are MPI's; this owns committed types.
class Types {
 public:
  Types() = default;
  Types(const Types&) = delete;
  Types& operator=(const Types&) = delete;
  Types(Types&&) = default;
  Types& operator=(Types&&) = delete;
  ~Types() {
    for (MPI_Datatype& type : types_) MPI_Type_free(&type);
  }
  /// `rows` x `columns` doubles from that corner of a row-major buffer of height x width.
  void add(Index height, Index width, Index row, Index column, Index rows, Index columns);
  [[nodiscard]] const MPI_Datatype* data() const { return types_.data(); }
  [[nodiscard]] MPI_Datatype operator[](int k) const { return types_[static_cast<std::size_t>(k)]; }

 private:
  std::vector<MPI_Datatype> types_;
};

/// A square of doubles from blocks of rows to blocks of columns, by hand: receives go to where the
/// elements belong, since the rows of a process lie side by side there; what is sent is packed; the
/// own part is copied.
class PackedExchange {
 public:
  PackedExchange(const Setting& setting, Index extent);
  void run(const double* source, double* destination);

 private:
  const Setting& setting_;
  Index extent_, part_;
  Buffer<> packed_;
  std::vector<MPI_Request> requests_;
};

/// The same by MPI_Alltoallw with types that are committed once.
class TypedExchange {
 public:
  TypedExchange(const Setting& setting, Index extent);
  void run(const double* source, double* destination);

 private:
  const Setting& setting_;
  Types sent_, received_;
  std::vector<int> counts_, displacements_;
};

}  // namespace bench
