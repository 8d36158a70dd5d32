// SPDX-License-Identifier: Apache-2.0
/// Data access of files that span systems: MPI_File_read_at and all its forms (MPI-4.0 14.4).
#pragma once

#include <mpi.h>

#include "shim/io/file_way.hpp"

namespace impishim::shim {

struct File;
struct Job;

/// A call of a data access function. What it does not have keeps its default.
struct FileAccessCall {
  Job& job;
  File& file;
  const char* function;
  FileWay way;
  MPI_Offset offset = 0;
  void* buffer = nullptr;
  MPI_Count count = 0;
  MPI_Datatype datatype = MPI_DATATYPE_NULL;
  MPI_Status* status = MPI_STATUS_IGNORE;
  MPI_Request* request = nullptr;
};

/// Carries out a call for which File::in_vendor() is false. Returns its code.
[[nodiscard]] int access_file(const FileAccessCall& call);

}  // namespace impishim::shim
