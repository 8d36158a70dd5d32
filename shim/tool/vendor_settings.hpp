// SPDX-License-Identifier: Apache-2.0
/// What a vendor's MPI must do otherwise in a joined job, by variables that only it reads.
#pragma once

namespace impishim::shim {

/// Sets these variables if a joined job is asked for. To be called before the vendor is
/// initialised, by MPI_Init or by MPI_T_init_thread, and before the program has threads that read
/// the environment.
void prepare_vendor();

}  // namespace impishim::shim
