// SPDX-License-Identifier: Apache-2.0
// Messages of zero elements of MPI_DATATYPE_NULL. MPI does not allow them. MPICH delivers them, and
// Open MPI refuses them. A joined job does as the vendor does, and refuses the type for one
// element.
#include <cstdio>

#include "tests/support/check.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

#ifdef OPEN_MPI
constexpr bool kDelivers = false;
#else
constexpr bool kDelivers = true;
#endif

int class_of(int code) {
  int error_class = -1;
  MPI_Error_class(code, &error_class);
  return error_class;
}

void refuse(int peer) {
  const int word = 1;
  int received = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  REQUIRE_EQUAL(class_of(MPI_Send(&word, 1, MPI_DATATYPE_NULL, peer, 0, MPI_COMM_WORLD)),
                MPI_ERR_TYPE);
  REQUIRE_EQUAL(
      class_of(MPI_Irecv(&received, 1, MPI_DATATYPE_NULL, peer, 0, MPI_COMM_WORLD, &request)),
      MPI_ERR_TYPE);
  if (kDelivers) return;
  REQUIRE_EQUAL(class_of(MPI_Send(nullptr, 0, MPI_DATATYPE_NULL, peer, 0, MPI_COMM_WORLD)),
                MPI_ERR_TYPE);
}

void deliver(int rank, int size) {
  for (int to = 0; to < size; ++to)
    MPI_Send(nullptr, 0, MPI_DATATYPE_NULL, to == rank ? MPI_PROC_NULL : to, 7, MPI_COMM_WORLD);
  for (int from = 0; from < size; ++from) {
    if (from == rank) continue;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    int elements = -1;
    REQUIRE_EQUAL(MPI_Irecv(nullptr, 0, MPI_DATATYPE_NULL, from, 7, MPI_COMM_WORLD, &request),
                  MPI_SUCCESS);
    REQUIRE_EQUAL(MPI_Wait(&request, &status), MPI_SUCCESS);
    MPI_Get_count(&status, MPI_BYTE, &elements);
    REQUIRE_EQUAL(elements, 0);
    REQUIRE_EQUAL(status.MPI_SOURCE, from);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int rank = rank_in(MPI_COMM_WORLD);
  const int size = size_of(MPI_COMM_WORLD);
  for (int peer = 0; peer < size; ++peer) {
    if (peer != rank) refuse(peer);
  }
  if (kDelivers) deliver(rank, size);
  if (rank == 0) std::printf("%d ranks sent nothing of no type\n", size);
  MPI_Finalize();
}
