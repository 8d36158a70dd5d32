// SPDX-License-Identifier: Apache-2.0
/// The program's hints for the vendor's part of a file that others write as well.
#pragma once

#include <mpi.h>

#include "shim/handle/hints.hpp"

namespace impishim::shim {

/// Returns the program's hints without leave to gather writes. A vendor that gathers writes reads
/// what lies between its data, and writes it back. Another system may have written it meanwhile.
/// With these hints ROMIO writes the bytes of its processes alone.
[[nodiscard]] inline ChangedHints without_gathering(MPI_Info hints) {
  return {hints, {{"romio_cb_write", "disable"}, {"romio_ds_write", "disable"}}};
}

}  // namespace impishim::shim
