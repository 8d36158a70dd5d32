// SPDX-License-Identifier: Apache-2.0
/// The program's hints for the vendor's part of a file that others write as well.
#pragma once

#include <mpi.h>

#include "shim/vendor.hpp"

namespace impishim::shim {

/// A vendor that gathers writes reads what lies between them, and writes it back. It takes that for
/// data that no other process writes, but another system may write it at that time. The hints
/// forbid it: ROMIO then writes the bytes of its processes alone.
class FileHints {
 public:
  explicit FileHints(MPI_Info hints) {
    const int code =
        hints == MPI_INFO_NULL ? vendor::Info_create(&hints_) : vendor::Info_dup(hints, &hints_);
    if (code != MPI_SUCCESS) hints_ = MPI_INFO_NULL;
    for (const char* key : {"romio_cb_write", "romio_ds_write"}) {
      if (hints_ != MPI_INFO_NULL) vendor::Info_set(hints_, key, "disable");
    }
  }
  ~FileHints() {
    if (hints_ != MPI_INFO_NULL) vendor::Info_free(&hints_);
  }
  FileHints(const FileHints&) = delete;
  FileHints& operator=(const FileHints&) = delete;
  [[nodiscard]] MPI_Info info() const { return hints_; }

 private:
  MPI_Info hints_ = MPI_INFO_NULL;
};

}  // namespace impishim::shim
