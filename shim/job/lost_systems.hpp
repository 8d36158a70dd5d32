// SPDX-License-Identifier: Apache-2.0
/// What the loss of another system means for the communicators of this process, if it goes on.
#pragma once

#include <atomic>
#include <cstddef>

#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"

namespace impishim::shim {

/// Ends what waits for the processes of lost systems: receives end with the loss, and communicators
/// with lost members are broken. `lost` is the engine's number of losses.
void handle_losses(Job& job, std::size_t lost);

/// Does that if there is a loss that this process has not handled. Costs two loads.
inline void handle_new_losses(Job& job) {
  const std::size_t lost = job.engine->lost_count();
  if (lost != job.losses_handled.load(std::memory_order_relaxed)) [[unlikely]]
    handle_losses(job, lost);
}

/// Breaks a communicator that was made while a system of its members was lost.
void break_if_lost(Job& job, Communicator& communicator);

/// Makes the job go on, or not, when a system is lost, as the error handler of MPI_COMM_WORLD says.
void follow_error_handler(Job& job);

}  // namespace impishim::shim
