// SPDX-License-Identifier: Apache-2.0
// Wrong calls on windows that span systems: each gets an error of the right class, and the window
// stays usable.
#include <mpi.h>

#include <cstdio>

#include "tests/mpi/one_sided/window.hpp"
#include "tests/support/check.hpp"

namespace {

using impishim_test::IntWindow;
using impishim_test::rank_in;
using impishim_test::size_of;

const MPI_Comm kWorld = MPI_COMM_WORLD;

int class_of(int code) {
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  return error_class;
}

/// Epochs that do not follow each other.
void check_epochs(MPI_Win window, int other) {
  const int value = 1;
  MPI_Request request = MPI_REQUEST_NULL;
  REQUIRE_EQUAL(class_of(MPI_Put(&value, 1, MPI_INT, other, 0, 1, MPI_INT, window)),
                MPI_ERR_RMA_SYNC);
  REQUIRE_EQUAL(class_of(MPI_Win_flush(other, window)), MPI_ERR_RMA_SYNC);
  REQUIRE_EQUAL(class_of(MPI_Win_flush_all(window)), MPI_ERR_RMA_SYNC);
  REQUIRE_EQUAL(class_of(MPI_Win_unlock(other, window)), MPI_ERR_RMA_SYNC);
  REQUIRE_EQUAL(class_of(MPI_Win_unlock_all(window)), MPI_ERR_RMA_SYNC);
  REQUIRE_EQUAL(class_of(MPI_Win_complete(window)), MPI_ERR_RMA_SYNC);
  REQUIRE_EQUAL(class_of(MPI_Win_wait(window)), MPI_ERR_RMA_SYNC);
  MPI_Win_lock(MPI_LOCK_SHARED, other, 0, window);
  REQUIRE_EQUAL(class_of(MPI_Win_lock(MPI_LOCK_SHARED, other, 0, window)), MPI_ERR_RMA_SYNC);
  REQUIRE_EQUAL(class_of(MPI_Win_lock_all(0, window)), MPI_ERR_RMA_SYNC);
  REQUIRE_EQUAL(class_of(MPI_Win_start(MPI_GROUP_EMPTY, 0, window)), MPI_ERR_RMA_SYNC);
  MPI_Win freed = window;
  REQUIRE_EQUAL(class_of(MPI_Win_free(&freed)), MPI_ERR_RMA_SYNC);
  REQUIRE(freed == window);
  MPI_Win_unlock(other, window);
  MPI_Win_fence(0, window);
  REQUIRE_EQUAL(class_of(MPI_Rput(&value, 1, MPI_INT, other, 0, 1, MPI_INT, window, &request)),
                MPI_ERR_RMA_SYNC);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
}

void check_arguments(MPI_Win window, int other) {
  int value = 1;
  int result = 0;
  MPI_Datatype mixed = MPI_DATATYPE_NULL;
  const int lengths[] = {1, 1};
  const MPI_Aint places[] = {0, 4};
  const MPI_Datatype types[] = {MPI_INT, MPI_FLOAT};
  MPI_Type_create_struct(2, lengths, places, types, &mixed);
  MPI_Type_commit(&mixed);
  MPI_Win_lock_all(0, window);
  REQUIRE_EQUAL(class_of(MPI_Put(&value, -1, MPI_INT, other, 0, 1, MPI_INT, window)),
                MPI_ERR_COUNT);
  REQUIRE_EQUAL(class_of(MPI_Put(&value, 1, MPI_INT, other, 0, -1, MPI_INT, window)),
                MPI_ERR_COUNT);
  REQUIRE_EQUAL(class_of(MPI_Get(&value, 1, MPI_DATATYPE_NULL, other, 0, 1, MPI_INT, window)),
                MPI_ERR_TYPE);
  REQUIRE_EQUAL(class_of(MPI_Put(&value, 1, MPI_INT, size_of(kWorld), 0, 1, MPI_INT, window)),
                MPI_ERR_RANK);
  REQUIRE_EQUAL(class_of(MPI_Put(&value, 1, MPI_INT, other, 0, 2, MPI_INT, window)), MPI_ERR_TYPE);
  REQUIRE_EQUAL(
      class_of(MPI_Accumulate(&value, 1, MPI_INT, other, 0, 1, MPI_INT, MPI_OP_NULL, window)),
      MPI_ERR_OP);
  REQUIRE_EQUAL(class_of(MPI_Accumulate(&value, 1, mixed, other, 0, 1, mixed, MPI_SUM, window)),
                MPI_ERR_TYPE);
  const double number = 1;
  REQUIRE_EQUAL(
      class_of(MPI_Accumulate(&number, 1, MPI_DOUBLE, other, 0, 1, MPI_DOUBLE, MPI_BAND, window)),
      MPI_ERR_OP);
  REQUIRE_EQUAL(
      class_of(MPI_Compare_and_swap(&number, &number, &result, MPI_DOUBLE, other, 0, window)),
      MPI_ERR_TYPE);
  REQUIRE_EQUAL(class_of(MPI_Win_lock(MPI_LOCK_SHARED, size_of(kWorld), 0, window)), MPI_ERR_RANK);
  MPI_Win_unlock_all(window);
  REQUIRE_EQUAL(class_of(MPI_Win_lock(-77, other, 0, window)), MPI_ERR_LOCKTYPE);
  MPI_Type_free(&mixed);
}

/// Memory that the target does not expose: told at the next synchronisation, and not touched.
void check_ranges(MPI_Win window, int other) {
  int values[4] = {9, 9, 9, 9};
  MPI_Win_lock(MPI_LOCK_SHARED, other, 0, window);
  MPI_Put(values, 4, MPI_INT, other, 7, 4, MPI_INT, window);
  REQUIRE_EQUAL(class_of(MPI_Win_flush(other, window)), MPI_ERR_RMA_RANGE);
  MPI_Accumulate(values, 1, MPI_INT, other, -1, 1, MPI_INT, MPI_SUM, window);
  REQUIRE_EQUAL(class_of(MPI_Win_flush(other, window)), MPI_ERR_RMA_RANGE);
  MPI_Get(values, 4, MPI_INT, other, 7, 4, MPI_INT, window);
  REQUIRE_EQUAL(class_of(MPI_Win_unlock(other, window)), MPI_ERR_RMA_RANGE);
  for (const int value : values) REQUIRE_EQUAL(value, 9);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = rank_in(kWorld);
  const int size = size_of(kWorld);
  // A rank of another system, in all shapes.
  const int other = (rank + size / 2) % size;
  {
    IntWindow window(8, kWorld);
    MPI_Win_set_errhandler(window.window(), MPI_ERRORS_RETURN);
    check_epochs(window.window(), other);
    check_arguments(window.window(), other);
    check_ranges(window.window(), other);
    MPI_Barrier(kWorld);
    for (int i = 0; i < 8; ++i) REQUIRE_EQUAL(window[i], impishim_test::kUntouched);
    // The window is as good as before.
    MPI_Win_fence(0, window.window());
    MPI_Put(&rank, 1, MPI_INT, other, 0, 1, MPI_INT, window.window());
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window.window());
    REQUIRE_EQUAL(window[0], (rank + size - size / 2) % size);
  }
  MPI_Comm_set_errhandler(kWorld, MPI_ERRORS_RETURN);
  MPI_Win window = MPI_WIN_NULL;
  int value = 0;
  REQUIRE(MPI_Win_create(&value, -4, 1, MPI_INFO_NULL, kWorld, &window) != MPI_SUCCESS);
  REQUIRE(MPI_Win_create(&value, 4, 0, MPI_INFO_NULL, kWorld, &window) != MPI_SUCCESS);
  if (rank == 0) std::printf("errors of windows on %d ranks: right\n", size);
  MPI_Finalize();
  return 0;
}
