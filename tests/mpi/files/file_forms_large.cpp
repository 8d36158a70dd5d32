// SPDX-License-Identifier: Apache-2.0
// Every form of access with a large count (MPI-4).
#include <mpi.h>

#include <cstdio>

#include "tests/mpi/files/file_forms.hpp"
#include "tests/mpi/files/shared_file.hpp"
#include "tests/support/check.hpp"

namespace {

using impishim_test::check_forms;
using impishim_test::kInts;
using impishim_test::part_of;
using impishim_test::Road;
using impishim_test::SharedFile;

/// Forms of one rank.
void check_alone(SharedFile& file) {
  check_forms(
      file,
      [](MPI_File fh, int part, const int* data, MPI_Status* status) {
        MPI_File_seek(fh, part_of(part), MPI_SEEK_SET);
        MPI_File_write_c(fh, data, kInts, MPI_INT, status);
      },
      [](MPI_File fh, int part, int* data, MPI_Status* status) {
        MPI_File_seek(fh, part_of(part), MPI_SEEK_SET);
        MPI_File_read_c(fh, data, kInts, MPI_INT, status);
      });
  check_forms(
      file,
      [](MPI_File fh, int part, const int* data, MPI_Status* status) {
        MPI_File_write_at_c(fh, part_of(part), data, kInts, MPI_INT, status);
      },
      [](MPI_File fh, int part, int* data, MPI_Status* status) {
        MPI_File_read_at_c(fh, part_of(part), data, kInts, MPI_INT, status);
      });
  check_forms(
      file,
      [](MPI_File fh, int part, const int* data, MPI_Status* status) {
        MPI_File_seek(fh, part_of(part), MPI_SEEK_SET);
        MPI_Request request;
        MPI_File_iwrite_c(fh, data, kInts, MPI_INT, &request);
        MPI_Wait(&request, status);
      },
      [](MPI_File fh, int part, int* data, MPI_Status* status) {
        MPI_File_seek(fh, part_of(part), MPI_SEEK_SET);
        MPI_Request request;
        MPI_File_iread_c(fh, data, kInts, MPI_INT, &request);
        MPI_Wait(&request, status);
      });
  check_forms(
      file,
      [](MPI_File fh, int part, const int* data, MPI_Status* status) {
        MPI_Request request;
        MPI_File_iwrite_at_c(fh, part_of(part), data, kInts, MPI_INT, &request);
        MPI_Wait(&request, status);
      },
      [](MPI_File fh, int part, int* data, MPI_Status* status) {
        MPI_Request request;
        MPI_File_iread_at_c(fh, part_of(part), data, kInts, MPI_INT, &request);
        MPI_Wait(&request, status);
      });
}

/// Collective forms.
void check_together(SharedFile& file) {
  check_forms(
      file,
      [](MPI_File fh, int part, const int* data, MPI_Status* status) {
        MPI_File_seek(fh, part_of(part), MPI_SEEK_SET);
        MPI_File_write_all_c(fh, data, kInts, MPI_INT, status);
      },
      [](MPI_File fh, int part, int* data, MPI_Status* status) {
        MPI_File_seek(fh, part_of(part), MPI_SEEK_SET);
        MPI_File_read_all_c(fh, data, kInts, MPI_INT, status);
      });
  check_forms(
      file,
      [](MPI_File fh, int part, const int* data, MPI_Status* status) {
        MPI_File_write_at_all_c(fh, part_of(part), data, kInts, MPI_INT, status);
      },
      [](MPI_File fh, int part, int* data, MPI_Status* status) {
        MPI_File_read_at_all_c(fh, part_of(part), data, kInts, MPI_INT, status);
      });
  check_forms(
      file,
      [](MPI_File fh, int part, const int* data, MPI_Status* status) {
        MPI_File_seek(fh, part_of(part), MPI_SEEK_SET);
        MPI_Request request;
        MPI_File_iwrite_all_c(fh, data, kInts, MPI_INT, &request);
        MPI_Wait(&request, status);
      },
      [](MPI_File fh, int part, int* data, MPI_Status* status) {
        MPI_File_seek(fh, part_of(part), MPI_SEEK_SET);
        MPI_Request request;
        MPI_File_iread_all_c(fh, data, kInts, MPI_INT, &request);
        MPI_Wait(&request, status);
      });
  check_forms(
      file,
      [](MPI_File fh, int part, const int* data, MPI_Status* status) {
        MPI_Request request;
        MPI_File_iwrite_at_all_c(fh, part_of(part), data, kInts, MPI_INT, &request);
        MPI_Wait(&request, status);
      },
      [](MPI_File fh, int part, int* data, MPI_Status* status) {
        MPI_Request request;
        MPI_File_iread_at_all_c(fh, part_of(part), data, kInts, MPI_INT, &request);
        MPI_Wait(&request, status);
      });
}

/// Split collective forms.
void check_split(SharedFile& file) {
  check_forms(
      file,
      [](MPI_File fh, int part, const int* data, MPI_Status* status) {
        MPI_File_seek(fh, part_of(part), MPI_SEEK_SET);
        MPI_File_write_all_begin_c(fh, data, kInts, MPI_INT);
        MPI_File_write_all_end(fh, data, status);
      },
      [](MPI_File fh, int part, int* data, MPI_Status* status) {
        MPI_File_seek(fh, part_of(part), MPI_SEEK_SET);
        MPI_File_read_all_begin_c(fh, data, kInts, MPI_INT);
        MPI_File_read_all_end(fh, data, status);
      });
  check_forms(
      file,
      [](MPI_File fh, int part, const int* data, MPI_Status* status) {
        MPI_File_write_at_all_begin_c(fh, part_of(part), data, kInts, MPI_INT);
        MPI_File_write_at_all_end(fh, data, status);
      },
      [](MPI_File fh, int part, int* data, MPI_Status* status) {
        MPI_File_read_at_all_begin_c(fh, part_of(part), data, kInts, MPI_INT);
        MPI_File_read_at_all_end(fh, data, status);
      });
}

/// Forms by the shared pointer, in the order of ranks.
void check_ordered(SharedFile& file) {
  check_forms(
      file,
      [](MPI_File fh, int part, const int* data, MPI_Status* status) {
        static_cast<void>(part);
        MPI_File_write_ordered_c(fh, data, kInts, MPI_INT, status);
      },
      [](MPI_File fh, int part, int* data, MPI_Status* status) {
        static_cast<void>(part);
        MPI_File_read_ordered_c(fh, data, kInts, MPI_INT, status);
      },
      true);
  check_forms(
      file,
      [](MPI_File fh, int part, const int* data, MPI_Status* status) {
        static_cast<void>(part);
        MPI_File_write_ordered_begin_c(fh, data, kInts, MPI_INT);
        MPI_File_write_ordered_end(fh, data, status);
      },
      [](MPI_File fh, int part, int* data, MPI_Status* status) {
        static_cast<void>(part);
        MPI_File_read_ordered_begin_c(fh, data, kInts, MPI_INT);
        MPI_File_read_ordered_end(fh, data, status);
      },
      true);
}

/// Forms by the shared pointer, in any order: every rank's ints are there.
void check_shared(SharedFile& file) {
  const int me = impishim_test::rank_in(MPI_COMM_WORLD);
  const int size = impishim_test::size_of(MPI_COMM_WORLD);
  MPI_Request request;
  const int value = me + 1;
  MPI_File_write_shared_c(file.get(), &value, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_iwrite_shared_c(file.get(), &value, 1, MPI_INT, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  file.settle();
  MPI_File_seek_shared(file.get(), 0, MPI_SEEK_SET);
  int values[2] = {0, 0};
  MPI_File_read_shared_c(file.get(), &values[0], 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_iread_shared_c(file.get(), &values[1], 1, MPI_INT, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  int sum = values[0] + values[1];
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  REQUIRE_EQUAL(sum, size * (size + 1));
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  for (const Road road : {Road::kBySight, Road::kByShipping}) {
    SharedFile file(impishim_test::common_name("large-forms"),
                    MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, road);
    MPI_File_set_view(file.get(), 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    check_alone(file);
    check_together(file);
    check_split(file);
    check_ordered(file);
    check_shared(file);
  }
  if (impishim_test::rank_in(MPI_COMM_WORLD) == 0) std::printf("large forms of access: right\n");
  MPI_Finalize();
}
