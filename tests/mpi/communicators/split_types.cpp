// SPDX-License-Identifier: Apache-2.0
// MPI_Comm_split_type with every type that this MPI has (MPI-4.0 7.4.2). Its parts of the world
// must be those of a communicator of one system's processes.
#include <cstdio>
#include <cstring>
#include <vector>

#include "tests/support/check.hpp"
#include "tests/support/members.hpp"

#ifdef OPEN_MPI
#define HAVE_OPEN_MPI true
#else
#define HAVE_OPEN_MPI false
#endif

namespace {

using impishim_test::in_joined_job;
using impishim_test::members_of;
using impishim_test::rank_in;
using impishim_test::size_of;

/// The number of this process's system.
int system_number() {
  int* number = nullptr;
  int found = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &found);
  return found != 0 && in_joined_job() ? *number : 0;
}

MPI_Info resource(const char* type) {
  MPI_Info info = MPI_INFO_NULL;
  if (type == nullptr) return info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_hw_resource_type", type);
  return info;
}

MPI_Comm part_of(MPI_Comm comm, int type, int key, const char* resource_type) {
  MPI_Comm part = MPI_COMM_WORLD;
  MPI_Info info = resource(resource_type);
  REQUIRE_EQUAL(MPI_Comm_split_type(comm, type, key, info, &part), MPI_SUCCESS);
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
  return part;
}

/// The members of both parts are the same, in the order of the key.
void check_type(MPI_Comm system, int type, const char* resource_type = nullptr) {
  for (const int sign : {1, -1}) {
    const int key = sign * rank_in(MPI_COMM_WORLD);
    MPI_Comm part = part_of(MPI_COMM_WORLD, type, key, resource_type);
    MPI_Comm expected = part_of(system, type, key, resource_type);
    REQUIRE_EQUAL(part == MPI_COMM_NULL, expected == MPI_COMM_NULL);
    if (part == MPI_COMM_NULL) continue;
    REQUIRE(members_of(part) == members_of(expected));
    int sum = 0;
    const int one = 1;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, part);
    REQUIRE_EQUAL(sum, size_of(part));
    MPI_Comm_free(&part);
    MPI_Comm_free(&expected);
  }
}

/// This machine is one node, so all processes of a system are a part.
void check_whole_system(MPI_Comm system, int type) {
  check_type(system, type);
  MPI_Comm part = part_of(MPI_COMM_WORLD, type, 0, nullptr);
  REQUIRE(members_of(part) == members_of(system));
  MPI_Comm_free(&part);
}

/// Some members do not want to be in a part.
void check_undefined() {
  const int rank = rank_in(MPI_COMM_WORLD);
  MPI_Comm part =
      part_of(MPI_COMM_WORLD, rank % 2 == 0 ? MPI_COMM_TYPE_SHARED : MPI_UNDEFINED, rank, nullptr);
  REQUIRE_EQUAL(part == MPI_COMM_NULL, rank % 2 != 0);
  if (part == MPI_COMM_NULL) return;
  for (const int member : members_of(part)) REQUIRE_EQUAL(member % 2, 0);
  MPI_Comm_free(&part);
}

void check_invalid(int type) {
  MPI_Comm part = MPI_COMM_NULL;
  int error_class = MPI_SUCCESS;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int code = MPI_Comm_split_type(MPI_COMM_WORLD, type, 0, MPI_INFO_NULL, &part);
  MPI_Error_class(code, &error_class);
  REQUIRE_EQUAL(error_class, MPI_ERR_ARG);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/// The vendors have types of their own, and all members must make the same calls.
bool is_one_mpi() {
  const bool open_mpi = HAVE_OPEN_MPI;
  const int mine[2] = {open_mpi ? 1 : 0, open_mpi ? 0 : 1};
  int either[2] = {0, 0};
  MPI_Allreduce(mine, either, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return either[0] + either[1] == 1;
}

#ifdef MPI_COMM_TYPE_HW_UNGUIDED
/// The largest parts that are smaller than a communicator over several systems are nodes.
void check_unguided(MPI_Comm system) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Comm part = MPI_COMM_NULL;
  REQUIRE_EQUAL(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_UNGUIDED,
                                    -rank_in(MPI_COMM_WORLD), info, &part),
                MPI_SUCCESS);
  if (in_joined_job()) {
    char value[32] = "";
    int found = 0;
    MPI_Info_get(info, "mpi_hw_resource_type", sizeof(value) - 1, value, &found);
    REQUIRE(found != 0 && std::strcmp(value, "node") == 0);
    REQUIRE_EQUAL(size_of(part), size_of(system));
    REQUIRE_EQUAL(rank_in(part), size_of(system) - 1 - rank_in(system));
  }
  if (part != MPI_COMM_NULL) {
    REQUIRE(size_of(part) < size_of(MPI_COMM_WORLD));
    MPI_Comm_free(&part);
  }
  MPI_Info_free(&info);
}
#endif

void check_own_types(MPI_Comm system) {
#ifdef MPI_COMM_TYPE_HW_GUIDED
  check_type(system, MPI_COMM_TYPE_HW_GUIDED);
  for (const char* type : {"mpi_shared_memory", "numanode", "package", "core", "no such resource"})
    check_type(system, MPI_COMM_TYPE_HW_GUIDED, type);
  check_unguided(system);
#endif
#ifdef MPIX_COMM_TYPE_NEIGHBORHOOD
  check_type(system, MPIX_COMM_TYPE_NEIGHBORHOOD);
#endif
#ifdef OPEN_MPI
  for (const int type : {int{OMPI_COMM_TYPE_NODE}, int{OMPI_COMM_TYPE_HOST}, int{OMPI_COMM_TYPE_CU},
                         int{OMPI_COMM_TYPE_CLUSTER}})
    check_whole_system(system, type);
  for (const int type : {OMPI_COMM_TYPE_HWTHREAD, OMPI_COMM_TYPE_CORE, OMPI_COMM_TYPE_L1CACHE,
                         OMPI_COMM_TYPE_L2CACHE, OMPI_COMM_TYPE_L3CACHE, OMPI_COMM_TYPE_SOCKET,
                         OMPI_COMM_TYPE_NUMA, OMPI_COMM_TYPE_BOARD})
    check_type(system, type);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm system = MPI_COMM_NULL;
  const int rank = rank_in(MPI_COMM_WORLD);
  MPI_Comm_split(MPI_COMM_WORLD, system_number(), rank, &system);
  check_whole_system(system, MPI_COMM_TYPE_SHARED);
  check_undefined();
  if (is_one_mpi()) check_own_types(system);
  check_invalid(4711);
  check_invalid(-4711);
  MPI_Comm_free(&system);
  std::printf("rank %d of %d: parts of every type are right\n", rank, size_of(MPI_COMM_WORLD));
  MPI_Finalize();
  return 0;
}
