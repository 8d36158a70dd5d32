// SPDX-License-Identifier: Apache-2.0
// Windows of shared memory: the ranks of a node, and what a window that spans systems says instead.
#include <mpi.h>

#include <cstdio>

#include "tests/support/check.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

int class_of(int code) {
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  return error_class;
}

/// Writes into the memory of each neighbour by its address.
template <class Allocate, class Query>
void check_shared(MPI_Comm node, const Allocate& allocate, const Query& query) {
  const int rank = rank_in(node);
  const int size = size_of(node);
  int* mine = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  REQUIRE_EQUAL(allocate(node, &mine, &window), MPI_SUCCESS);
  mine[0] = -1;
  MPI_Win_fence(0, window);
  MPI_Aint bytes = 0;
  int* next = nullptr;
  REQUIRE_EQUAL(query(window, (rank + 1) % size, &bytes, &next), MPI_SUCCESS);
  REQUIRE_EQUAL(bytes, sizeof(int));
  next[0] = rank;
  MPI_Win_fence(0, window);
  REQUIRE_EQUAL(mine[0], (rank + size - 1) % size);
  MPI_Win_free(&window);
}

void check_classic(MPI_Comm node) {
  check_shared(
      node,
      [](MPI_Comm comm, int** memory, MPI_Win* window) {
        return MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, comm,
                                       static_cast<void*>(memory), window);
      },
      [](MPI_Win window, int rank, MPI_Aint* bytes, int** memory) {
        int unit = 0;
        const int code =
            MPI_Win_shared_query(window, rank, bytes, &unit, static_cast<void*>(memory));
        REQUIRE_EQUAL(unit, sizeof(int));
        return code;
      });
}

void check_large(MPI_Comm node) {
#if MPI_VERSION >= 4
  check_shared(
      node,
      [](MPI_Comm comm, int** memory, MPI_Win* window) {
        return MPI_Win_allocate_shared_c(sizeof(int), sizeof(int), MPI_INFO_NULL, comm,
                                         static_cast<void*>(memory), window);
      },
      [](MPI_Win window, int rank, MPI_Aint* bytes, int** memory) {
        MPI_Aint unit = 0;
        const int code =
            MPI_Win_shared_query_c(window, rank, bytes, &unit, static_cast<void*>(memory));
        REQUIRE_EQUAL(unit, sizeof(int));
        return code;
      });
#else
  static_cast<void>(node);
#endif
}

/// A window that was not made of shared memory has none to tell of.
void check_other_flavor() {
  int memory = 0;
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_create(&memory, sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  MPI_Aint bytes = 0;
  int unit = 0;
  int* where = nullptr;
  const int code = MPI_Win_shared_query(window, 0, &bytes, &unit, static_cast<void*>(&where));
  REQUIRE(code != MPI_SUCCESS);
  REQUIRE(class_of(code) == MPI_ERR_RMA_FLAVOR || class_of(code) == MPI_ERR_WIN);
  MPI_Win_free(&window);
}

}  // namespace

int main() {
  MPI_Init(nullptr, nullptr);
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  check_classic(node);
  check_large(node);
  MPI_Comm_free(&node);
  check_other_flavor();
  std::printf("rank %d of %d: right\n", rank_in(MPI_COMM_WORLD), size_of(MPI_COMM_WORLD));
  MPI_Finalize();
  return 0;
}
