// SPDX-License-Identifier: Apache-2.0
// MPI_Comm_idup: several at once beside other outstanding operations, completed in any order; what
// a duplicate takes over and what stays apart. The same natively and joined.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "tests/support/check.hpp"
#include "tests/support/members.hpp"

namespace {

using impishim_test::check_members;
using impishim_test::members_of;
using impishim_test::rank_in;
using impishim_test::size_of;

int copied = 0;

int copy(MPI_Comm, int, void*, void* value, void* out, int* flag) {
  ++copied;
  *static_cast<void**>(out) = value;
  *flag = 1;
  return MPI_SUCCESS;
}

/// Three duplicates of two communicators, and a reduction, all in progress at once; ranks complete
/// them in different orders.
void check_several() {
  MPI_Comm other = impishim_test::world_backwards();
  std::vector<MPI_Comm> twins(3, MPI_COMM_NULL);
  std::vector<MPI_Request> requests(4, MPI_REQUEST_NULL);
  const int mine = rank_in(MPI_COMM_WORLD) + 1;
  int sum = 0;
  REQUIRE_EQUAL(MPI_Comm_idup(MPI_COMM_WORLD, &twins[0], &requests[0]), MPI_SUCCESS);
  REQUIRE_EQUAL(MPI_Comm_idup(other, &twins[1], &requests[1]), MPI_SUCCESS);
  MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[2]);
  REQUIRE_EQUAL(MPI_Comm_idup(MPI_COMM_WORLD, &twins[2], &requests[3]), MPI_SUCCESS);
  if (mine % 2 == 0) {
    for (auto request = requests.rbegin(); request != requests.rend(); ++request)
      MPI_Wait(&*request, MPI_STATUS_IGNORE);
  } else {
    for (int done = 0; done == 0;) MPI_Testall(4, requests.data(), &done, MPI_STATUSES_IGNORE);
  }
  REQUIRE(std::all_of(requests.begin(), requests.end(),
                      [](MPI_Request request) { return request == MPI_REQUEST_NULL; }));
  const int size = size_of(MPI_COMM_WORLD);
  REQUIRE_EQUAL(sum, size * (size + 1) / 2);
  check_members(twins[0], members_of(MPI_COMM_WORLD));
  check_members(twins[1], members_of(other));
  check_members(twins[2], members_of(MPI_COMM_WORLD));
  for (int i = 0; i < 3; ++i) {
    int result = MPI_UNEQUAL;
    MPI_Comm_compare(twins[static_cast<std::size_t>(i)], i == 1 ? other : MPI_COMM_WORLD, &result);
    REQUIRE_EQUAL(result, MPI_CONGRUENT);
  }
  for (MPI_Comm& twin : twins) MPI_Comm_free(&twin);
  MPI_Comm_free(&other);
}

/// What is sent on the parent does not arrive on the duplicate, though it was sent first.
void check_apart() {
  const int rank = rank_in(MPI_COMM_WORLD);
  const int size = size_of(MPI_COMM_WORLD);
  const int to = (rank + 1) % size;
  const int on_parent = 100 + rank;
  const int on_twin = 200 + rank;
  MPI_Request sends[2];
  MPI_Isend(&on_parent, 1, MPI_INT, to, 5, MPI_COMM_WORLD, &sends[0]);
  MPI_Comm twin = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm_idup(MPI_COMM_WORLD, &twin, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Isend(&on_twin, 1, MPI_INT, to, 5, twin, &sends[1]);
  int got = -1;
  const int from = (rank + size - 1) % size;
  MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, twin, MPI_STATUS_IGNORE);
  REQUIRE_EQUAL(got, 200 + from);
  MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  REQUIRE_EQUAL(got, 100 + from);
  MPI_Waitall(2, sends, MPI_STATUSES_IGNORE);
  MPI_Comm_free(&twin);
}

void check_taken_over() {
  int keyval = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &keyval, nullptr);
  const int dims[] = {size_of(MPI_COMM_WORLD)};
  const int periods[] = {1};
  MPI_Comm ring = MPI_COMM_NULL;
  MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &ring);
  int value = 7;
  MPI_Comm_set_attr(ring, keyval, &value);
  MPI_Comm twin = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm_set_errhandler(ring, MPI_ERRORS_RETURN);
  MPI_Comm_idup(ring, &twin, &request);
  // The duplicate gets what was there at the call (MPI-3.1 6.4.2): a change is later than that, or
  // refused.
  int later = 8;
  const int changed = MPI_Comm_set_attr(ring, keyval, &later);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (changed != MPI_SUCCESS) {
    int error_class = MPI_SUCCESS;
    MPI_Error_class(changed, &error_class);
    REQUIRE_EQUAL(error_class, MPI_ERR_UNSUPPORTED_OPERATION);
    REQUIRE_EQUAL(MPI_Comm_set_attr(ring, keyval, &later), MPI_SUCCESS);
  }
  REQUIRE_EQUAL(copied, 1);
  int* found_value = nullptr;
  int found = 0;
  MPI_Comm_get_attr(twin, keyval, &found_value, &found);
  REQUIRE(found != 0 && found_value == &value);
  int topology = -1;
  MPI_Topo_test(twin, &topology);
  REQUIRE_EQUAL(topology, MPI_CART);
  MPI_Comm_free(&twin);
  MPI_Comm_free(&ring);
  MPI_Comm_free_keyval(&keyval);
}

/// Inside one system, and between the groups of an intercommunicator.
void check_other_kinds() {
  MPI_Comm part = MPI_COMM_NULL;
  const int rank = rank_in(MPI_COMM_WORLD);
  const int half = size_of(MPI_COMM_WORLD) / 2;
  MPI_Comm_split(MPI_COMM_WORLD, rank < half ? 0 : 1, rank, &part);
  MPI_Comm bridge = MPI_COMM_NULL;
  MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, rank < half ? half : 0, 9, &bridge);
  MPI_Comm twins[2] = {MPI_COMM_NULL, MPI_COMM_NULL};
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Comm_idup(part, &twins[0], &requests[0]);
  MPI_Comm_idup(bridge, &twins[1], &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  check_members(twins[0], members_of(part));
  REQUIRE(impishim_test::remote_members_of(twins[1]) == impishim_test::remote_members_of(bridge));
  const int mine = rank;
  int sum = -1;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, twins[1]);
  int expected = 0;
  for (const int member : impishim_test::remote_members_of(bridge)) expected += member;
  REQUIRE_EQUAL(sum, expected);
  for (MPI_Comm* comm : {&twins[0], &twins[1], &bridge, &part}) MPI_Comm_free(comm);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  check_several();
  check_apart();
  check_taken_over();
  check_other_kinds();
  if (rank_in(MPI_COMM_WORLD) == 0)
    std::printf("idup on %d ranks: right\n", size_of(MPI_COMM_WORLD));
  MPI_Finalize();
}
