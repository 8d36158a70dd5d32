// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/darray/exchange.hpp"

#include <array>
#include <cstring>

namespace bench {

void Types::add(Index height, Index width, Index row, Index column, Index rows, Index columns) {
  const std::array<int, 2> whole{static_cast<int>(height), static_cast<int>(width)};
  const std::array<int, 2> part{static_cast<int>(rows), static_cast<int>(columns)};
  const std::array<int, 2> start{static_cast<int>(row), static_cast<int>(column)};
  MPI_Datatype& type = types_.emplace_back();
  MPI_Type_create_subarray(2, whole.data(), part.data(), start.data(), MPI_ORDER_C, MPI_DOUBLE,
                           &type);
  MPI_Type_commit(&type);
}

PackedExchange::PackedExchange(const Setting& setting, Index extent)
    : setting_(setting), extent_(extent), part_(extent / setting.size), packed_(part_ * extent) {}

void PackedExchange::run(const double* source, double* destination) {
  const int size = setting_.size;
  const auto row_bytes = static_cast<std::size_t>(part_) * sizeof(double);
  const Index block = part_ * part_;
  requests_.clear();
  for (int step = 1; step < size; ++step) {
    const int peer = (setting_.rank + size - step) % size;
    MPI_Irecv(destination + peer * block, static_cast<int>(block), MPI_DOUBLE, peer, 0,
              setting_.comm, &requests_.emplace_back());
  }
  for (int step = 1; step < size; ++step) {
    const int peer = (setting_.rank + step) % size;
    double* packed = packed_.get() + peer * block;
    for (Index row = 0; row < part_; ++row) {
      std::memcpy(packed + row * part_, source + row * extent_ + peer * part_, row_bytes);
    }
    MPI_Isend(packed, static_cast<int>(block), MPI_DOUBLE, peer, 0, setting_.comm,
              &requests_.emplace_back());
  }
  for (Index row = 0; row < part_; ++row) {
    std::memcpy(destination + setting_.rank * block + row * part_,
                source + row * extent_ + setting_.rank * part_, row_bytes);
  }
  MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
}

TypedExchange::TypedExchange(const Setting& setting, Index extent)
    : setting_(setting),
      counts_(static_cast<std::size_t>(setting.size), 1),
      displacements_(static_cast<std::size_t>(setting.size), 0) {
  const Index part = extent / setting.size;
  for (int peer = 0; peer < setting.size; ++peer) {
    sent_.add(part, extent, 0, peer * part, part, part);
    received_.add(extent, part, peer * part, 0, part, part);
  }
}

void TypedExchange::run(const double* source, double* destination) {
  MPI_Alltoallw(source, counts_.data(), displacements_.data(), sent_.data(), destination,
                counts_.data(), displacements_.data(), received_.data(), setting_.comm);
}

}  // namespace bench
