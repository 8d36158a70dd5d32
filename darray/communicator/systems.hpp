// SPDX-License-Identifier: Apache-2.0
/// The MPI system that every rank belongs to. Messages between two systems cost more than messages
/// inside a system.
#pragma once

#include <mpi.h>

#include <vector>

namespace impishim::darray {

/// The systems (IMPI calls them clients) that a communicator's ranks belong to. Without the joining
/// library all ranks are one system.
class Systems {
 public:
  Systems() = default;
  /// Makes the table from the system of every rank. Systems are numbered from 0 in any order.
  explicit Systems(std::vector<int> system_of_rank);
  /// Reads the communicator's IMPI attributes (IMPI 2.5). Collective. Throws Error(kMpi) if an MPI
  /// call fails.
  static Systems of(MPI_Comm comm);

  int count() const { return count_; }
  int of_rank(int rank) const { return systems_[static_cast<std::size_t>(rank)]; }
  bool crosses(int from, int to) const { return of_rank(from) != of_rank(to); }

 private:
  std::vector<int> systems_;
  int count_ = 0;
};

}  // namespace impishim::darray
