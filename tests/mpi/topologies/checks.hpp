// SPDX-License-Identifier: Apache-2.0
/// Checks that hold for topologies of every kind.
#pragma once

#include <mpi.h>

#include "tests/support/check.hpp"
#include "tests/support/members.hpp"

namespace impishim_test {

/// MPI_CART, MPI_GRAPH, MPI_DIST_GRAPH or MPI_UNDEFINED.
inline int topology_of(MPI_Comm comm) {
  int kind = -1;
  REQUIRE_EQUAL(MPI_Topo_test(comm, &kind), MPI_SUCCESS);
  return kind;
}

/// `made` has the first `nodes` processes of `parent`, in this order. False: this process is none
/// of them, and got no communicator.
inline bool check_place(MPI_Comm made, MPI_Comm parent, int nodes) {
  if (rank_in(parent) >= nodes) {
    REQUIRE(made == MPI_COMM_NULL);
    return false;
  }
  auto members = members_of(parent);
  members.resize(static_cast<std::size_t>(nodes));
  check_members(made, members);
  return true;
}

}  // namespace impishim_test
