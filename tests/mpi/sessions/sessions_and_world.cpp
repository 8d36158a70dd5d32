// SPDX-License-Identifier: Apache-2.0
// A program that uses a session beside MPI_Init, in the order that the first argument says, and
// ends them in the other order. In a joined job the session outlives MPI_Finalize, which
// MPICH 4.0.2 by itself does not stand.
#include <cstdio>
#include <string_view>

#include "tests/support/check.hpp"
#include "tests/support/members.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

void require_world(bool begun, bool over) {
  int flag = -1;
  MPI_Initialized(&flag);
  REQUIRE_EQUAL(flag != 0, begun);
  MPI_Finalized(&flag);
  REQUIRE_EQUAL(flag != 0, over);
}

int sum_of_ranks(MPI_Comm comm) {
  const int rank = rank_in(comm);
  int sum = 0;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
  return sum;
}

MPI_Comm world_of(MPI_Session session) {
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  REQUIRE_EQUAL(MPI_Comm_create_from_group(group, "beside the world", MPI_INFO_NULL,
                                           MPI_ERRORS_ARE_FATAL, &comm),
                MPI_SUCCESS);
  MPI_Group_free(&group);
  return comm;
}

int count_deleted(MPI_Comm /*comm*/, int /*keyval*/, void* value, void* /*state*/) {
  ++*static_cast<int*>(value);
  return MPI_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  const bool session_first = std::string_view(argv[1]) == "session_first";
  MPI_Session session = MPI_SESSION_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  int provided = -1;
  if (session_first) {
    REQUIRE_EQUAL(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session), MPI_SUCCESS);
    require_world(false, false);
    comm = world_of(session);
  }
  REQUIRE_EQUAL(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided), MPI_SUCCESS);
  REQUIRE_EQUAL(provided, MPI_THREAD_MULTIPLE);
  require_world(true, false);
  if (!session_first) {
    REQUIRE_EQUAL(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session), MPI_SUCCESS);
    comm = world_of(session);
  }
  const int rank = rank_in(MPI_COMM_WORLD);
  const int size = size_of(MPI_COMM_WORLD);
  int comparison = -1;
  MPI_Comm_compare(MPI_COMM_WORLD, comm, &comparison);
  REQUIRE_EQUAL(comparison, MPI_CONGRUENT);
  const int expected = size * (size - 1) / 2;
  REQUIRE_EQUAL(sum_of_ranks(MPI_COMM_WORLD), expected);
  REQUIRE_EQUAL(sum_of_ranks(comm), expected);
  int keyval = MPI_KEYVAL_INVALID;
  int deleted = 0;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, count_deleted, &keyval, nullptr);
  MPI_Comm_set_attr(MPI_COMM_SELF, keyval, &deleted);
  if (session_first && impishim_test::in_joined_job()) {
    REQUIRE_EQUAL(MPI_Finalize(), MPI_SUCCESS);
    REQUIRE_EQUAL(deleted, 1);
    require_world(true, true);
    REQUIRE_EQUAL(sum_of_ranks(comm), expected);
    MPI_Comm_free(&comm);
    REQUIRE_EQUAL(MPI_Session_finalize(&session), MPI_SUCCESS);
  } else {
    MPI_Comm_free(&comm);
    REQUIRE_EQUAL(MPI_Session_finalize(&session), MPI_SUCCESS);
    REQUIRE_EQUAL(sum_of_ranks(MPI_COMM_WORLD), expected);
    REQUIRE_EQUAL(MPI_Finalize(), MPI_SUCCESS);
    REQUIRE_EQUAL(deleted, 1);
  }
  require_world(true, true);
  std::printf("rank %d of %d: a session beside the world is right\n", rank, size);
  return 0;
}
