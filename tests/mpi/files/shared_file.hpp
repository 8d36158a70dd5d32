// SPDX-License-Identifier: Apache-2.0
/// A file for the tests, which all ranks open and which is gone at the end.
#pragma once

#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/support/check.hpp"

namespace impishim_test {

/// How the systems that do not have a file get to it.
enum class Road { kBySight, kByShipping };

/// Returns a name for a file that all ranks agree on.
inline std::string common_name(const char* what) {
  char name[256] = "";
  if (rank_in(MPI_COMM_WORLD) == 0) {
    const char* folder = std::getenv("TMPDIR");
    // Open MPI's time begins at 0.
    std::snprintf(name, sizeof(name), "%s/impishim-%s-%ld-%ld", folder == nullptr ? "/tmp" : folder,
                  what, static_cast<long>(getpid()), static_cast<long>(MPI_Wtime() * 1e6));
  }
  MPI_Bcast(name, sizeof(name), MPI_CHAR, 0, MPI_COMM_WORLD);
  return name;
}

class SharedFile {
 public:
  SharedFile(const std::string& name, int mode, Road road) {
    MPI_Info hints = MPI_INFO_NULL;
    MPI_Info_create(&hints);
    if (road == Road::kByShipping) MPI_Info_set(hints, "impishim_file_sharing", "never");
    REQUIRE_EQUAL(MPI_File_open(MPI_COMM_WORLD, name.c_str(), mode, hints, &file_), MPI_SUCCESS);
    MPI_Info_free(&hints);
    // Natively a file's errors are returned, so a test would not notice them.
    MPI_File_set_errhandler(file_, MPI_ERRORS_ARE_FATAL);
  }
  ~SharedFile() { close(); }
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;

  [[nodiscard]] MPI_File get() const { return file_; }
  void close() {
    if (file_ != MPI_FILE_NULL) REQUIRE_EQUAL(MPI_File_close(&file_), MPI_SUCCESS);
  }
  /// Makes what was written by any rank visible to all.
  void settle() {
    MPI_File_sync(file_);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_sync(file_);
  }

 private:
  MPI_File file_ = MPI_FILE_NULL;
};

/// Returns the number of `datatype` that an access has transferred.
inline int transferred(const MPI_Status& status, MPI_Datatype datatype) {
  int count = -1;
  MPI_Get_count(&status, datatype, &count);
  return count;
}

}  // namespace impishim_test
