// SPDX-License-Identifier: Apache-2.0
// Forms of access that file_access.cpp does not use, the atomic mode, and lengths.
#include <mpi.h>

#include <cstdio>

#include "tests/mpi/files/file_forms.hpp"
#include "tests/mpi/files/shared_file.hpp"
#include "tests/support/check.hpp"

namespace {

using impishim_test::check_forms;
using impishim_test::kInts;
using impishim_test::part_of;
using impishim_test::rank_in;
using impishim_test::Road;
using impishim_test::SharedFile;
using impishim_test::size_of;

void check_collective(SharedFile& file) {
  check_forms(
      file,
      [](MPI_File fh, int part, const int* data, MPI_Status* status) {
        MPI_Request request;
        MPI_File_iwrite_at_all(fh, part_of(part), data, kInts, MPI_INT, &request);
        MPI_Wait(&request, status);
      },
      [](MPI_File fh, int part, int* data, MPI_Status* status) {
        MPI_File_read_at_all(fh, part_of(part), data, kInts, MPI_INT, status);
      });
  check_forms(
      file,
      [](MPI_File fh, int part, const int* data, MPI_Status* status) {
        MPI_Request request;
        MPI_File_seek(fh, part_of(part), MPI_SEEK_SET);
        MPI_File_iwrite_all(fh, data, kInts, MPI_INT, &request);
        MPI_Wait(&request, status);
      },
      [](MPI_File fh, int part, int* data, MPI_Status* status) {
        MPI_Request request;
        MPI_File_seek(fh, part_of(part), MPI_SEEK_SET);
        MPI_File_iread_all(fh, data, kInts, MPI_INT, &request);
        MPI_Wait(&request, status);
      });
  check_forms(
      file,
      [](MPI_File fh, int part, const int* data, MPI_Status* status) {
        MPI_File_seek(fh, part_of(part), MPI_SEEK_SET);
        MPI_File_write_all_begin(fh, data, kInts, MPI_INT);
        MPI_File_write_all_end(fh, data, status);
      },
      [](MPI_File fh, int part, int* data, MPI_Status* status) {
        MPI_File_read_at_all_begin(fh, part_of(part), data, kInts, MPI_INT);
        MPI_File_read_at_all_end(fh, data, status);
      });
}

/// In the atomic mode what is written is there for every rank as soon as the write has returned.
void check_atomic(SharedFile& file) {
  MPI_File_set_atomicity(file.get(), 1);
  int flag = 0;
  MPI_File_get_atomicity(file.get(), &flag);
  REQUIRE_EQUAL(flag, 1);
  const int me = rank_in(MPI_COMM_WORLD);
  const int last = size_of(MPI_COMM_WORLD) - 1;
  for (int round = 0; round < 20; ++round) {
    const int writer = round % 2 == 0 ? 0 : last;
    int value = 77 + round;
    if (me == writer) {
      MPI_File_seek(file.get(), 3, MPI_SEEK_SET);
      MPI_File_write(file.get(), &value, 1, MPI_INT, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    value = 0;
    MPI_File_read_at(file.get(), 3, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
    REQUIRE_EQUAL(value, 77 + round);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_File_set_atomicity(file.get(), 0);
}

void check_lengths(SharedFile& file) {
  MPI_File_set_size(file.get(), 100);
  MPI_Offset size = 0;
  MPI_File_get_size(file.get(), &size);
  REQUIRE_EQUAL(size, 100);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_preallocate(file.get(), 5000);
  MPI_File_get_size(file.get(), &size);
  REQUIRE_EQUAL(size, 5000);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_preallocate(file.get(), 200);
  MPI_File_get_size(file.get(), &size);
  REQUIRE_EQUAL(size, 5000);
}

/// Hints change nothing of what is written.
void check_hints(SharedFile& file) {
  MPI_Info hints;
  MPI_Info_create(&hints);
  MPI_Info_set(hints, "access_style", "write_mostly");
  MPI_Info_set(hints, "romio_cb_write", "enable");
  MPI_File_set_info(file.get(), hints);
  MPI_Info_free(&hints);
  MPI_File_get_info(file.get(), &hints);
  REQUIRE(hints != MPI_INFO_NULL);
  MPI_Info_free(&hints);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  for (const Road road : {Road::kBySight, Road::kByShipping}) {
    SharedFile file(impishim_test::common_name("forms"),
                    MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, road);
    MPI_File_set_view(file.get(), 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    check_hints(file);
    check_collective(file);
    check_atomic(file);
    check_lengths(file);
  }
  if (rank_in(MPI_COMM_WORLD) == 0)
    std::printf("forms of access on %d ranks: right\n", size_of(MPI_COMM_WORLD));
  MPI_Finalize();
}
