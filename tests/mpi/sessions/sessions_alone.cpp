// SPDX-License-Identifier: Apache-2.0
// A program without MPI_Init: sessions, one after the other and several at once, their process
// sets, and communicators of these (MPI-4.0 11.3). A joined run adds what MPICH 4.0.2 by itself
// does wrong.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/check.hpp"
#include "tests/support/members.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

const bool joined = impishim_test::in_joined_job();
int handled = 0;

void count_errors(MPI_Session* /*session*/, int* /*code*/, ...) { ++handled; }

void require_no_world() {
  int flag = -1;
  MPI_Initialized(&flag);
  REQUIRE_EQUAL(flag, 0);
  MPI_Finalized(&flag);
  REQUIRE_EQUAL(flag, 0);
}

int class_of(int code) {
  int error_class = -1;
  MPI_Error_class(code, &error_class);
  return error_class;
}

std::string name_of_set(MPI_Session session, int n) {
  int length = 0;
  REQUIRE_EQUAL(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, nullptr), MPI_SUCCESS);
  std::vector<char> name(static_cast<std::size_t>(length) + 1, '#');
  REQUIRE_EQUAL(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, name.data()),
                MPI_SUCCESS);
  REQUIRE_EQUAL(std::strlen(name.data()), length - 1);
  // A buffer that is too short gets the beginning.
  int four = 4;
  char beginning[5] = "####";
  REQUIRE_EQUAL(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &four, beginning), MPI_SUCCESS);
  REQUIRE(std::string_view(beginning) == "mpi");
  REQUIRE_EQUAL(beginning[4], '\0');
  if (joined) REQUIRE_EQUAL(four, length);
  return name.data();
}

int size_by_info(MPI_Session session, const char* name) {
  MPI_Info info = MPI_INFO_NULL;
  char value[32] = "";
  int found = 0;
  REQUIRE_EQUAL(MPI_Session_get_pset_info(session, name, &info), MPI_SUCCESS);
  MPI_Info_get(info, "mpi_size", sizeof(value) - 1, value, &found);
  REQUIRE(found != 0);
  MPI_Info_free(&info);
  return std::atoi(value);
}

MPI_Comm communicator_of(MPI_Session session, const char* name, const char* tag) {
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  REQUIRE_EQUAL(MPI_Group_from_session_pset(session, name, &group), MPI_SUCCESS);
  int size = 0;
  MPI_Group_size(group, &size);
  REQUIRE_EQUAL(size, size_by_info(session, name));
  REQUIRE_EQUAL(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm),
                MPI_SUCCESS);
  MPI_Group_free(&group);
  REQUIRE_EQUAL(size_of(comm), size);
  return comm;
}

/// All predefined attributes stand on every communicator of a session (MPI-4.0 9.1.2).
void check_attributes(MPI_Comm comm) {
  int* value = nullptr;
  int found = 0;
  REQUIRE_EQUAL(MPI_Comm_get_attr(comm, MPI_TAG_UB, &value, &found), MPI_SUCCESS);
  REQUIRE(found != 0);
  REQUIRE(*value >= 32767);
  REQUIRE_EQUAL(MPI_Comm_get_attr(comm, MPI_WTIME_IS_GLOBAL, &value, &found), MPI_SUCCESS);
  REQUIRE(found != 0);
}

int delete_callback(MPI_Comm /*comm*/, int /*keyval*/, void* value, void* /*state*/) {
  ++*static_cast<int*>(value);
  return MPI_SUCCESS;
}

void check_caching(MPI_Comm comm) {
  int keyval = MPI_KEYVAL_INVALID;
  int deleted = 0;
  MPI_Comm_create_keyval(MPI_COMM_DUP_FN, delete_callback, &keyval, nullptr);
  REQUIRE_EQUAL(MPI_Comm_set_attr(comm, keyval, &deleted), MPI_SUCCESS);
  MPI_Comm twin = MPI_COMM_NULL;
  MPI_Comm_dup(comm, &twin);
  MPI_Comm_free(&twin);
  REQUIRE_EQUAL(deleted, 1);
  MPI_Comm_delete_attr(comm, keyval);
  REQUIRE_EQUAL(deleted, 2);
  MPI_Comm_free_keyval(&keyval);
}

/// Rank and size in the world, by messages and a collective.
void check_world(MPI_Comm comm, int& rank, int& size) {
  rank = rank_in(comm);
  size = size_of(comm);
  int sum = 0;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
  REQUIRE_EQUAL(sum, size * (size - 1) / 2);
  int from = -1;
  MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 5, &from, 1, MPI_INT, (rank + size - 1) % size,
               5, comm, MPI_STATUS_IGNORE);
  REQUIRE_EQUAL(from, (rank + size - 1) % size);
}

void check_errors(MPI_Session session) {
  const int before = handled;
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Info info = MPI_INFO_NULL;
  int length = 0;
  REQUIRE_EQUAL(class_of(MPI_Group_from_session_pset(session, "mpi://NOWHERE", &group)),
                MPI_ERR_ARG);
  REQUIRE(group == MPI_GROUP_NULL);
  REQUIRE_EQUAL(class_of(MPI_Session_get_pset_info(session, "mpi://NOWHERE", &info)), MPI_ERR_ARG);
  REQUIRE_EQUAL(class_of(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 2, &length, nullptr)),
                MPI_ERR_ARG);
  REQUIRE_EQUAL(class_of(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, -1, &length, nullptr)),
                MPI_ERR_ARG);
  REQUIRE_EQUAL(handled, before + 4);
}

std::string level_of(MPI_Session session) {
  MPI_Info info = MPI_INFO_NULL;
  char value[64] = "";
  int found = 0;
  REQUIRE_EQUAL(MPI_Session_get_info(session, &info), MPI_SUCCESS);
  MPI_Info_get(info, "thread_level", sizeof(value) - 1, value, &found);
  REQUIRE(found != 0);
  MPI_Info_free(&info);
  return value;
}

void use_session(MPI_Session session, int& rank, int& size) {
  require_no_world();
  int sets = 0;
  REQUIRE_EQUAL(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &sets), MPI_SUCCESS);
  REQUIRE_EQUAL(sets, 2);
  REQUIRE(name_of_set(session, 0) == "mpi://WORLD");
  REQUIRE(name_of_set(session, 1) == "mpi://SELF");
  MPI_Comm world = communicator_of(session, "mpi://WORLD", "sessions_alone.world");
  check_world(world, rank, size);
  check_attributes(world);
  check_caching(world);
  MPI_Comm self = communicator_of(session, "mpi://SELF", "sessions_alone.self");
  REQUIRE_EQUAL(rank_in(self), 0);
  REQUIRE_EQUAL(size_of(self), 1);
  check_attributes(self);
  MPI_Comm_free(&self);
  MPI_Comm_disconnect(&world);
}

}  // namespace

int main() {
  require_no_world();
  MPI_Session first = MPI_SESSION_NULL;
  MPI_Session second = MPI_SESSION_NULL;
  int rank = -1;
  int size = -1;
  REQUIRE_EQUAL(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &first), MPI_SUCCESS);
  REQUIRE(level_of(first) == "MPI_THREAD_MULTIPLE");
  use_session(first, rank, size);
  // MPICH 4.0.2 makes no error handler before the first session.
  MPI_Errhandler counting = MPI_ERRHANDLER_NULL;
  MPI_Session_create_errhandler(count_errors, &counting);
  REQUIRE_EQUAL(MPI_Session_init(MPI_INFO_NULL, counting, &second), MPI_SUCCESS);
  REQUIRE(first != second);
  use_session(second, rank, size);
  if (joined) check_errors(second);
  REQUIRE_EQUAL(MPI_Session_finalize(&first), MPI_SUCCESS);
  REQUIRE(first == MPI_SESSION_NULL);
  use_session(second, rank, size);
  REQUIRE_EQUAL(MPI_Session_finalize(&second), MPI_SUCCESS);
  require_no_world();
  // The program goes on without a session, and begins another.
  if (joined) {
    MPI_Session third = MPI_SESSION_NULL;
    REQUIRE_EQUAL(MPI_Session_init(MPI_INFO_NULL, counting, &third), MPI_SUCCESS);
    use_session(third, rank, size);
    check_errors(third);
    MPI_Errhandler_free(&counting);
    REQUIRE_EQUAL(MPI_Session_finalize(&third), MPI_SUCCESS);
  }
  std::printf("rank %d of %d: sessions alone are right\n", rank, size);
  return 0;
}
