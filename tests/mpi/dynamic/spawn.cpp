// SPDX-License-Identifier: Apache-2.0
// MPI_Comm_spawn and MPI_Comm_spawn_multiple from the world and from single processes; the children
// talk with all parents. The program is its own child: `child`, and what it expects.
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/mpi/dynamic/connected_groups.hpp"
#include "tests/mpi/dynamic/connected_objects.hpp"
#include "tests/support/check.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::remote_size_of;

int class_of(int code) {
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  return error_class;
}

/// A child's part: `parents` is how many processes have spawned it.
int be_child(int parents, const char* word) {
  MPI_Comm parent = MPI_COMM_NULL;
  REQUIRE_EQUAL(MPI_Comm_get_parent(&parent), MPI_SUCCESS);
  REQUIRE(parent != MPI_COMM_NULL);
  REQUIRE_EQUAL(remote_size_of(parent), parents);
  REQUIRE(std::strcmp(word, "two words") == 0);
  std::array<char, MPI_MAX_OBJECT_NAME> name{};
  int length = 0;
  MPI_Comm_get_name(parent, name.data(), &length);
  REQUIRE(std::string(name.data()).find("PARENT") != std::string::npos ||
          std::string(name.data()).find("parent") != std::string::npos);
  impishim_test::use_connection(parent, false);
  impishim_test::use_objects(parent, false);
  REQUIRE_EQUAL(MPI_Comm_disconnect(&parent), MPI_SUCCESS);
  MPI_Finalize();
  return 0;
}

/// Spawns one or two children from `comm`, by either function.
void spawn_from(MPI_Comm comm, char* self, int root, bool multiple) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  std::string parents = std::to_string(size);
  std::string child = "child";
  std::string word = "two words";
  std::vector<char*> argv{child.data(), parents.data(), word.data(), nullptr};
  MPI_Comm children = MPI_COMM_NULL;
  std::array<int, 2> codes{-1, -1};
  if (multiple) {
    std::array<char*, 2> commands{self, self};
    std::array<char**, 2> argvs{argv.data(), argv.data()};
    std::array<int, 2> counts{1, 1};
    std::array<MPI_Info, 2> infos{MPI_INFO_NULL, MPI_INFO_NULL};
    REQUIRE_EQUAL(MPI_Comm_spawn_multiple(2, commands.data(), argvs.data(), counts.data(),
                                          infos.data(), root, comm, &children, codes.data()),
                  MPI_SUCCESS);
  } else {
    // Only the root's arguments count.
    const bool is_root = rank_in(comm) == root;
    REQUIRE_EQUAL(
        MPI_Comm_spawn(is_root ? self : nullptr, is_root ? argv.data() : nullptr, is_root ? 2 : -1,
                       MPI_INFO_NULL, root, comm, &children, codes.data()),
        MPI_SUCCESS);
  }
  REQUIRE_EQUAL(codes[0], MPI_SUCCESS);
  REQUIRE_EQUAL(codes[1], MPI_SUCCESS);
  REQUIRE_EQUAL(remote_size_of(children), 2);
  impishim_test::use_connection(children, true);
  impishim_test::use_objects(children, true);
  REQUIRE_EQUAL(MPI_Comm_disconnect(&children), MPI_SUCCESS);
}

/// What all ranks do together although only some of them have had children.
void use_world() {
  const int rank = rank_in(MPI_COMM_WORLD);
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm inter = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  REQUIRE_EQUAL(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 5, &inter),
                MPI_SUCCESS);
  impishim_test::use_connection(inter, rank % 2 == 0);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
  std::array<int, 2> dims{0, 0};
  MPI_Dims_create(size, 2, dims.data());
  std::array<int, 2> least = dims;
  MPI_Allreduce(MPI_IN_PLACE, least.data(), 2, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  REQUIRE(least == dims);
  std::string path = "/tmp/impishim_spawn_" + std::to_string(getpid());
  path.resize(64);
  MPI_Bcast(path.data(), 64, MPI_CHAR, 0, MPI_COMM_WORLD);
  MPI_File file = MPI_FILE_NULL;
  REQUIRE_EQUAL(MPI_File_open(MPI_COMM_WORLD, path.c_str(),
                              MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE,
                              MPI_INFO_NULL, &file),
                MPI_SUCCESS);
  MPI_File_write_at_all(file, static_cast<MPI_Offset>(sizeof(int)) * rank, &rank, 1, MPI_INT,
                        MPI_STATUS_IGNORE);
  REQUIRE_EQUAL(MPI_File_close(&file), MPI_SUCCESS);
}

void check_failure(MPI_Comm comm) {
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm children = MPI_COMM_WORLD;
  int code_of_child = -1;
  char program[] = "/there/is/no/such/program";
  const int code =
      MPI_Comm_spawn(program, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, comm, &children, &code_of_child);
  REQUIRE_EQUAL(class_of(code), MPI_ERR_SPAWN);
  REQUIRE(code_of_child != MPI_SUCCESS);
  REQUIRE(children == MPI_COMM_NULL);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc == 4 && std::strcmp(argv[1], "child") == 0) return be_child(std::atoi(argv[2]), argv[3]);
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const std::string form = argc > 1 ? argv[1] : "";
  if (form == "self") {
    // One process after the other.
    for (int each = 0; each < size; each += size - 1) {
      if (rank_in(MPI_COMM_WORLD) == each) spawn_from(MPI_COMM_SELF, argv[0], 0, false);
      MPI_Barrier(MPI_COMM_WORLD);
    }
    use_world();
  } else {
    spawn_from(MPI_COMM_WORLD, argv[0], size - 1, form == "multiple");
  }
  if (form == "failure") check_failure(MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank_in(MPI_COMM_WORLD) == 0) std::printf("children of %d ranks: right\n", size);
  MPI_Finalize();
  return 0;
}
