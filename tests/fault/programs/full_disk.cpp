// SPDX-License-Identifier: Apache-2.0
// Each rank writes more to its part of the file argv[1] than the disk takes, and says which error
// comes, at the latest when the file is closed. Then all go on as if nothing had happened.
#include <array>
#include <cstdio>
#include <cstring>
#include <vector>

#include "tests/support/check.hpp"

namespace {

/// MPICH's class is MPI_ERR_IO, and its text says what it is.
const char* name_of(int code) {
  int error_class = MPI_SUCCESS;
  int length = 0;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  MPI_Error_class(code, &error_class);
  MPI_Error_string(code, text.data(), &length);
  const bool says_so = std::strstr(text.data(), "No space left on device") != nullptr;
  if (error_class == MPI_ERR_NO_SPACE || (error_class == MPI_ERR_IO && says_so)) return "no space";
  return code == MPI_SUCCESS ? "none" : "another";
}

int write_too_much(const char* path, int rank) {
  constexpr int kBytes = 4 << 20;
  MPI_File file = MPI_FILE_NULL;
  const int opened =
      MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  if (opened != MPI_SUCCESS) return opened;
  const std::vector<char> data(kBytes, 'x');
  const int written = MPI_File_write_at(file, MPI_Offset{rank} * kBytes, data.data(), kBytes,
                                        MPI_CHAR, MPI_STATUS_IGNORE);
  const int synced = MPI_File_sync(file);
  const int closed = MPI_File_close(&file);
  for (const int code : {written, synced, closed})
    if (code != MPI_SUCCESS) return code;
  return MPI_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = impishim_test::rank_in(MPI_COMM_WORLD);
  REQUIRE_EQUAL(argc, 2);
  std::printf("rank %d: error %s\n", rank, name_of(write_too_much(argv[1], rank)));
  int sum = 0;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  REQUIRE_EQUAL(sum, 1);
  MPI_Finalize();
  return 0;
}
