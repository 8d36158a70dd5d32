// SPDX-License-Identifier: Apache-2.0
// Attributes on MPI_COMM_SELF are deleted first in MPI_Finalize, in the reverse order of their
// setting, while every communicator still works (MPI-3.1 8.7.1): the callbacks here exchange
// messages over the world. One key is freed long before, as HDF5 does.
#include <cstdio>
#include <string>

#include "tests/support/check.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

std::string order;

int deleted_first(MPI_Comm comm, int, void* value, void*) {
  REQUIRE(comm == MPI_COMM_SELF);
  order += static_cast<const char*>(value);
  return MPI_SUCCESS;
}

int communicates(MPI_Comm comm, int, void* value, void*) {
  REQUIRE(comm == MPI_COMM_SELF);
  order += static_cast<const char*>(value);
  int finalized = 1;
  MPI_Finalized(&finalized);
  REQUIRE_EQUAL(finalized, 0);
  const int rank = rank_in(MPI_COMM_WORLD);
  const int size = size_of(MPI_COMM_WORLD);
  int got = -1;
  MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 9, &got, 1, MPI_INT, (rank + size - 1) % size,
               9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  REQUIRE_EQUAL(got, (rank + size - 1) % size);
  int sum = 0;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  REQUIRE_EQUAL(sum, size * (size - 1) / 2);
  return MPI_SUCCESS;
}

void set(MPI_Comm_delete_attr_function* callback, const char* name, bool free_key) {
  int key = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, callback, &key, nullptr);
  REQUIRE_EQUAL(MPI_Comm_set_attr(MPI_COMM_SELF, key, const_cast<char*>(name)), MPI_SUCCESS);
  if (free_key) MPI_Comm_free_keyval(&key);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  set(deleted_first, "a", false);
  set(communicates, "b", true);
  set(deleted_first, "c", true);
  int key = MPI_KEYVAL_INVALID;
  char gone[] = "d";
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, deleted_first, &key, nullptr);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, gone);
  MPI_Comm_delete_attr(MPI_COMM_SELF, key);
  REQUIRE(order == "d");
  const int rank = rank_in(MPI_COMM_WORLD);
  MPI_Finalize();
  if (order != "dcba") {
    std::fprintf(stderr, "rank %d: order of deletion: %s\n", rank, order.c_str());
    return 1;
  }
  std::printf("rank %d: %s\n", rank, order.c_str());
  return 0;
}
