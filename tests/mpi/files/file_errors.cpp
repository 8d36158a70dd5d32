// SPDX-License-Identifier: Apache-2.0
// Errors of files: every rank is told, and none waits.
#include <mpi.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "tests/mpi/files/shared_file.hpp"
#include "tests/support/check.hpp"

namespace {

using impishim_test::common_name;
using impishim_test::rank_in;
using impishim_test::Road;
using impishim_test::SharedFile;

int class_of(int code) {
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  return error_class;
}

/// The text of an error names the file and the system that could not open it.
void check_text(int code, const std::string& name) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  REQUIRE(std::strstr(text, name.c_str()) != nullptr);
  REQUIRE(std::strstr(text, "system 0") != nullptr);
}

int open_class(const std::string& name, int mode, MPI_Info hints = MPI_INFO_NULL) {
  MPI_File file = MPI_FILE_NULL;
  const int code = MPI_File_open(MPI_COMM_WORLD, name.c_str(), mode, hints, &file);
  if (code == MPI_SUCCESS) {
    MPI_File_close(&file);
  } else {
    REQUIRE(file == MPI_FILE_NULL);
    if (class_of(code) == MPI_ERR_NO_SUCH_FILE) check_text(code, name);
  }
  return class_of(code);
}

/// Files that cannot be opened.
void check_opening() {
  const std::string name = common_name("errors");
  REQUIRE_EQUAL(open_class(name, MPI_MODE_RDONLY), MPI_ERR_NO_SUCH_FILE);
  REQUIRE_EQUAL(open_class("/no/such/folder/file", MPI_MODE_CREATE | MPI_MODE_RDWR),
                MPI_ERR_NO_SUCH_FILE);
  REQUIRE_EQUAL(open_class(name, rank_in(MPI_COMM_WORLD) == 0 ? MPI_MODE_RDONLY : MPI_MODE_WRONLY),
                MPI_ERR_NOT_SAME);
  REQUIRE_EQUAL(open_class(name, MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR), MPI_SUCCESS);
  REQUIRE_EQUAL(open_class(name, MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR),
                MPI_ERR_FILE_EXISTS);
  MPI_Info hints;
  MPI_Info_create(&hints);
  MPI_Info_set(hints, "impishim_file_system", "99");
  REQUIRE_EQUAL(open_class(name, MPI_MODE_RDWR, hints), MPI_ERR_ARG);
  MPI_Info_set(hints, "impishim_file_system", "1");
  REQUIRE_EQUAL(open_class(name, MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, hints), MPI_SUCCESS);
  MPI_Info_free(&hints);
  REQUIRE_EQUAL(open_class(name, MPI_MODE_RDONLY), MPI_ERR_NO_SUCH_FILE);
}

/// Accesses that the mode or the arguments forbid.
void check_accesses(Road road) {
  const std::string name = common_name("errors");
  { const SharedFile made(name, MPI_MODE_CREATE | MPI_MODE_RDWR, road); }
  {
    const SharedFile file(name, MPI_MODE_RDONLY, road);
    MPI_File_set_errhandler(file.get(), MPI_ERRORS_RETURN);
    const int value = 1;
    REQUIRE_EQUAL(
        class_of(MPI_File_write_shared(file.get(), &value, 1, MPI_INT, MPI_STATUS_IGNORE)),
        MPI_ERR_READ_ONLY);
    int read = 0;
    MPI_Status status;
    REQUIRE_EQUAL(MPI_File_read_shared(file.get(), &read, 1, MPI_INT, &status), MPI_SUCCESS);
    REQUIRE_EQUAL(impishim_test::transferred(status, MPI_INT), 0);
  }
  const SharedFile file(name, MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE, road);
  MPI_File_set_errhandler(file.get(), MPI_ERRORS_RETURN);
  int value = 0;
  REQUIRE_EQUAL(class_of(MPI_File_read_shared(file.get(), &value, 1, MPI_INT, MPI_STATUS_IGNORE)),
                MPI_ERR_ACCESS);
  REQUIRE_EQUAL(class_of(MPI_File_write_shared(file.get(), &value, -1, MPI_INT, MPI_STATUS_IGNORE)),
                MPI_ERR_COUNT);
  // Part of an elementary type, in all that the ranks share.
  MPI_File_set_view(file.get(), 0, MPI_DOUBLE, MPI_DOUBLE, "native", MPI_INFO_NULL);
  REQUIRE_EQUAL(class_of(MPI_File_write_shared(file.get(), &value, 1, MPI_INT, MPI_STATUS_IGNORE)),
                MPI_ERR_IO);
  REQUIRE(MPI_File_seek_shared(file.get(), -1, MPI_SEEK_SET) != MPI_SUCCESS);
  // The end counts from the view's beginning. Open MPI natively counts from the file's.
  MPI_File_set_size(file.get(), 10 * static_cast<int>(sizeof(double)));
  MPI_File_set_view(file.get(), 4 * static_cast<int>(sizeof(double)), MPI_DOUBLE, MPI_DOUBLE,
                    "native", MPI_INFO_NULL);
  MPI_File_seek_shared(file.get(), -1, MPI_SEEK_END);
  MPI_Offset position = -1;
  MPI_File_get_position_shared(file.get(), &position);
  REQUIRE_EQUAL(position, 10 - 4 - 1);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  check_opening();
  check_accesses(Road::kBySight);
  check_accesses(Road::kByShipping);
  if (rank_in(MPI_COMM_WORLD) == 0)
    std::printf("errors of files on %d ranks: right\n", impishim_test::size_of(MPI_COMM_WORLD));
  MPI_Finalize();
}
