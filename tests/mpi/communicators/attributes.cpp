// SPDX-License-Identifier: Apache-2.0
// Predefined attributes, IMPI's and the user's own, on the world, on duplicates and on
// communicators inside a system. Arguments: the counts of ranks of the systems ("2 2"); none for a
// job that is not joined.
#include <cstdlib>
#include <vector>

#include "impishim/impishim.h"
#include "tests/support/check.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

int* attribute(MPI_Comm comm, int key) {
  int* value = nullptr;
  int found = 0;
  REQUIRE_EQUAL(MPI_Comm_get_attr(comm, key, static_cast<void*>(&value), &found), MPI_SUCCESS);
  return found != 0 ? value : nullptr;
}

/// The system of this rank of the joined world, and its first rank.
struct System {
  int number = 0;
  int first = 0;
};

System system_of(int rank, const std::vector<int>& counts) {
  System system;
  while (rank - system.first >= counts[static_cast<std::size_t>(system.number)]) {
    system.first += counts[static_cast<std::size_t>(system.number++)];
  }
  return system;
}

void check_joined(const std::vector<int>& counts) {
  const int rank = rank_in(MPI_COMM_WORLD);
  const System mine = system_of(rank, counts);
  const int systems = static_cast<int>(counts.size());
  REQUIRE_EQUAL(*attribute(MPI_COMM_WORLD, IMPI_CLIENT_SIZE), systems);
  REQUIRE_EQUAL(*attribute(MPI_COMM_WORLD, IMPI_CLIENT_COLOR), mine.number);
  REQUIRE_EQUAL(*attribute(MPI_COMM_WORLD, MPI_APPNUM), mine.number);
  REQUIRE_EQUAL(*attribute(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE), size_of(MPI_COMM_WORLD));
  // Values stay readable, and the same place holds the same value, after other attributes have been
  // asked for.
  const int* kept = attribute(MPI_COMM_WORLD, IMPI_HOST_COLOR);
  const int color = *kept;
  REQUIRE(*attribute(MPI_COMM_WORLD, IMPI_HOST_SIZE) >= systems);
  REQUIRE_EQUAL(*kept, color);
  REQUIRE(color >= mine.number && color < *attribute(MPI_COMM_WORLD, IMPI_HOST_SIZE));

  REQUIRE_EQUAL(*attribute(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL), 0);
  REQUIRE_EQUAL(*attribute(MPI_COMM_WORLD, MPI_HOST), MPI_PROC_NULL);

  // A communicator of one process is inside its system.
  REQUIRE_EQUAL(*attribute(MPI_COMM_SELF, IMPI_CLIENT_SIZE), 1);
  REQUIRE_EQUAL(*attribute(MPI_COMM_SELF, IMPI_CLIENT_COLOR), 0);
  REQUIRE_EQUAL(*attribute(MPI_COMM_SELF, IMPI_HOST_SIZE), 1);
  REQUIRE_EQUAL(*attribute(MPI_COMM_SELF, IMPI_HOST_COLOR), 0);

  MPI_Comm system = MPI_COMM_NULL;
  REQUIRE_EQUAL(MPI_Comm_split(MPI_COMM_WORLD, mine.number, rank, &system), MPI_SUCCESS);
  REQUIRE_EQUAL(size_of(system), counts[static_cast<std::size_t>(mine.number)]);
  REQUIRE_EQUAL(rank_in(system), rank - mine.first);
  REQUIRE_EQUAL(*attribute(system, IMPI_CLIENT_SIZE), 1);
  REQUIRE(*attribute(system, IMPI_HOST_COLOR) < *attribute(system, IMPI_HOST_SIZE));

  // The last rank of the world and the first: two systems, whatever is between them.
  const bool chosen = rank == 0 || rank == size_of(MPI_COMM_WORLD) - 1;
  MPI_Comm ends = MPI_COMM_NULL;
  REQUIRE_EQUAL(MPI_Comm_split(MPI_COMM_WORLD, chosen ? 0 : MPI_UNDEFINED, -rank, &ends),
                MPI_SUCCESS);
  REQUIRE_EQUAL(ends != MPI_COMM_NULL, chosen);
  if (chosen) {
    REQUIRE_EQUAL(*attribute(ends, IMPI_CLIENT_SIZE), 2);
    REQUIRE_EQUAL(*attribute(ends, IMPI_CLIENT_COLOR), rank == 0 ? 0 : 1);
    REQUIRE_EQUAL(rank_in(ends), rank == 0 ? 1 : 0);
    // Between one process and the other an intercommunicator spans as much.
    MPI_Comm inter = MPI_COMM_NULL;
    MPI_Intercomm_create(MPI_COMM_SELF, 0, ends, 1 - rank_in(ends), 0, &inter);
    REQUIRE_EQUAL(*attribute(inter, IMPI_CLIENT_SIZE), 2);
    REQUIRE_EQUAL(*attribute(inter, IMPI_CLIENT_COLOR), rank == 0 ? 0 : 1);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&ends);
  }
  MPI_Comm_free(&system);
}

int copied = 0;
int deleted = 0;

int copy_value(MPI_Comm, int, void*, void* value, void* copy, int* flag) {
  ++copied;
  *static_cast<void**>(copy) = value;
  *flag = 1;
  return MPI_SUCCESS;
}

int delete_value(MPI_Comm, int, void*, void*) {
  ++deleted;
  return MPI_SUCCESS;
}

void check_user_attributes() {
  int key = MPI_KEYVAL_INVALID;
  int value = 42;
  void* read = nullptr;
  int found = 0;
  REQUIRE_EQUAL(MPI_Comm_create_keyval(copy_value, delete_value, &key, nullptr), MPI_SUCCESS);
  REQUIRE_EQUAL(MPI_Comm_get_attr(MPI_COMM_WORLD, key, static_cast<void*>(&read), &found),
                MPI_SUCCESS);
  REQUIRE(found == 0);
  REQUIRE_EQUAL(MPI_Comm_set_attr(MPI_COMM_WORLD, key, &value), MPI_SUCCESS);
  MPI_Comm twin = MPI_COMM_NULL;
  REQUIRE_EQUAL(MPI_Comm_dup(MPI_COMM_WORLD, &twin), MPI_SUCCESS);
  REQUIRE_EQUAL(copied, 1);
  REQUIRE_EQUAL(MPI_Comm_get_attr(twin, key, static_cast<void*>(&read), &found), MPI_SUCCESS);
  REQUIRE(found != 0 && read == &value);
  REQUIRE_EQUAL(MPI_Comm_free(&twin), MPI_SUCCESS);
  REQUIRE_EQUAL(deleted, 1);
  REQUIRE_EQUAL(MPI_Comm_delete_attr(MPI_COMM_WORLD, key), MPI_SUCCESS);
  REQUIRE_EQUAL(deleted, 2);
  REQUIRE_EQUAL(MPI_Comm_free_keyval(&key), MPI_SUCCESS);
  REQUIRE_EQUAL(key, MPI_KEYVAL_INVALID);
}

void check_errors() {
  int* value = nullptr;
  int found = 0;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  REQUIRE(MPI_Comm_get_attr(MPI_COMM_NULL, MPI_TAG_UB, static_cast<void*>(&value), &found) !=
          MPI_SUCCESS);
  REQUIRE(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_KEYVAL_INVALID, static_cast<void*>(&value),
                            &found) != MPI_SUCCESS);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  std::vector<int> counts;
  for (int i = 1; i < argc; ++i) counts.push_back(std::atoi(argv[i]));

  // The tag bound is the same everywhere, and a message may carry it.
  const int bound = *attribute(MPI_COMM_WORLD, MPI_TAG_UB);
  REQUIRE(bound >= 32767);
  int least = 0;
  REQUIRE_EQUAL(MPI_Allreduce(&bound, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD), MPI_SUCCESS);
  REQUIRE_EQUAL(bound, least);
  const int rank = rank_in(MPI_COMM_WORLD);
  const int size = size_of(MPI_COMM_WORLD);
  int got = -1;
  MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, bound, &got, 1, MPI_INT,
               (rank + size - 1) % size, bound, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  REQUIRE_EQUAL(got, (rank + size - 1) % size);

  if (!counts.empty()) check_joined(counts);
  check_user_attributes();
  check_errors();
  MPI_Finalize();
  return 0;
}
