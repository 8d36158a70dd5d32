// SPDX-License-Identifier: Apache-2.0
// MPI_Comm_idup of communicators whose attribute's copy callback duplicates MPI_COMM_SELF. The
// callback runs while the duplication is in progress, so it must not wait for it.
#include <cstdio>

#include "tests/support/check.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

constexpr int kRounds = 3;

int copies = 0;

int duplicate_self(MPI_Comm /*comm*/, int /*keyval*/, void* /*extra*/, void* value, void* copy,
                   int* flag) {
  MPI_Comm self = MPI_COMM_NULL;
  REQUIRE_EQUAL(MPI_Comm_dup(MPI_COMM_SELF, &self), MPI_SUCCESS);
  REQUIRE_EQUAL(size_of(self), 1);
  MPI_Comm_free(&self);
  ++copies;
  *static_cast<void**>(copy) = value;
  *flag = 1;
  return MPI_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int keyval = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(duplicate_self, MPI_COMM_NULL_DELETE_FN, &keyval, nullptr);
  MPI_Comm parents[2] = {MPI_COMM_NULL, MPI_COMM_NULL};
  for (MPI_Comm& parent : parents) {
    MPI_Comm_dup(MPI_COMM_WORLD, &parent);
    MPI_Comm_set_attr(parent, keyval, &keyval);
  }
  for (int round = 0; round < kRounds; ++round) {
    MPI_Comm made[2] = {MPI_COMM_NULL, MPI_COMM_NULL};
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    for (int i = 0; i < 2; ++i) MPI_Comm_idup(parents[i], &made[i], &requests[i]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (MPI_Comm& each : made) {
      void* value = nullptr;
      int there = 0;
      MPI_Comm_get_attr(each, keyval, &value, &there);
      REQUIRE(there != 0 && value == &keyval);
      MPI_Comm_free(&each);
    }
  }
  REQUIRE_EQUAL(copies, 2 * kRounds);
  for (MPI_Comm& parent : parents) MPI_Comm_free(&parent);
  MPI_Comm_free_keyval(&keyval);
  if (rank_in(MPI_COMM_WORLD) == 0) std::printf("callbacks duplicated MPI_COMM_SELF\n");
  MPI_Finalize();
}
