// SPDX-License-Identifier: Apache-2.0
/// What a vendor's MPI must do otherwise in a joined job, by variables that only it reads.
#pragma once

#include <stdlib.h>

namespace impishim::shim {

/// Sets these variables if a joined job is asked for. To be called before the vendor is
/// initialised, by MPI_Init or by MPI_T_init_thread, and before the program has threads that read
/// the environment.
inline void prepare_vendor() {
  if (secure_getenv("IMPISHIM_SERVER") == nullptr) return;
  // Open MPI's OMPIO writes small gaps between its data as it has read them, which another system
  // may have written since (docs/files.md). No hint of a file forbids that.
  constexpr int kReplace = 1;
  setenv("OMPI_MCA_fbtl_posix_write_datasieving", "0", kReplace);
}

}  // namespace impishim::shim
