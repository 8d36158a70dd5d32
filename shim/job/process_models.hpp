// SPDX-License-Identifier: Apache-2.0
/// MPI's process models (MPI-4.0 11): the World Model, between MPI_Init and MPI_Finalize, and
/// sessions. A program may use either or both.
#pragma once

#include <stdlib.h>

#include <atomic>
#include <cstdint>

namespace impishim::shim {

/// The models that the program uses. The job is joined when the first begins, and left when none is
/// in use and no other can begin.
struct ProcessModels {
  std::atomic<bool> world_begun{false};  ///< the program has called MPI_Init or MPI_Init_thread
  std::atomic<bool> world_over{false};   ///< the program has called MPI_Finalize
  std::atomic<std::int32_t> sessions{0};
};

/// Returns true if the environment asks this process to join a job. For functions that may be
/// called before MPI is initialised.
[[nodiscard]] inline bool asks_to_join() { return secure_getenv("IMPISHIM_SERVER") != nullptr; }

}  // namespace impishim::shim
