// SPDX-License-Identifier: Apache-2.0
// A file of a communicator whose ranks are not in the order of MPI_COMM_WORLD, so that its first
// rank is in the last system: written by all, resized, and read back, with one file system and by
// shipping.
#include <mpi.h>

#include <cstdio>
#include <string>
#include <vector>

#include "tests/mpi/files/shared_file.hpp"
#include "tests/support/check.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

constexpr int kNumbers = 3000;

std::vector<int> numbers_of(int rank) {
  std::vector<int> numbers(kNumbers);
  for (int i = 0; i < kNumbers; ++i) numbers[static_cast<std::size_t>(i)] = rank * kNumbers + i;
  return numbers;
}

void write_and_read(MPI_Comm comm, const std::string& path, MPI_Info hints) {
  const int rank = rank_in(comm);
  const int next = (rank + 1) % size_of(comm);
  const MPI_Offset part = static_cast<MPI_Offset>(kNumbers * sizeof(int));
  MPI_File file = MPI_FILE_NULL;
  REQUIRE_EQUAL(MPI_File_open(comm, path.c_str(), MPI_MODE_RDWR | MPI_MODE_CREATE, hints, &file),
                MPI_SUCCESS);
  REQUIRE_EQUAL(MPI_File_set_size(file, 2 * part * size_of(comm)), MPI_SUCCESS);
  const std::vector<int> mine = numbers_of(rank);
  REQUIRE_EQUAL(
      MPI_File_write_at(file, rank * part, mine.data(), kNumbers, MPI_INT, MPI_STATUS_IGNORE),
      MPI_SUCCESS);
  MPI_File_sync(file);
  MPI_Barrier(comm);
  MPI_File_sync(file);
  std::vector<int> read(kNumbers);
  REQUIRE_EQUAL(
      MPI_File_read_at(file, next * part, read.data(), kNumbers, MPI_INT, MPI_STATUS_IGNORE),
      MPI_SUCCESS);
  REQUIRE(read == numbers_of(next));
  MPI_Barrier(comm);
  REQUIRE_EQUAL(MPI_File_set_size(file, part), MPI_SUCCESS);
  MPI_Offset size = 0;
  MPI_File_get_size(file, &size);
  REQUIRE_EQUAL(size, part);
  MPI_File_close(&file);
  MPI_Barrier(comm);
  if (rank == 0) REQUIRE_EQUAL(MPI_File_delete(path.c_str(), MPI_INFO_NULL), MPI_SUCCESS);
  MPI_Barrier(comm);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const std::string path = impishim_test::common_name("reversed");
  MPI_Comm reversed = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank_in(MPI_COMM_WORLD), &reversed);
  write_and_read(reversed, path, MPI_INFO_NULL);
  MPI_Info never = MPI_INFO_NULL;
  MPI_Info_create(&never);
  MPI_Info_set(never, "impishim_file_sharing", "never");
  write_and_read(reversed, path, never);
  MPI_Info_free(&never);
  MPI_Comm_free(&reversed);
  if (rank_in(MPI_COMM_WORLD) == 0) std::printf("reversed ranks wrote and read\n");
  MPI_Finalize();
}
