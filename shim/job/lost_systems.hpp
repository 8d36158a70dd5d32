// SPDX-License-Identifier: Apache-2.0
/// What the loss of another system means for this process, if it goes on.
///
/// A process goes on if errors on the joined world do not end the job: its error handler is
/// MPI_ERRORS_RETURN, or a function of the program's. The engine then ends what needs the lost
/// system (wire/engine/loss.cpp). What it does not know of, communicators above all, is handled
/// here, by the next thread that makes progress.
#pragma once

#include <atomic>
#include <cstdint>

#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"

namespace impishim::shim {

/// Ends what waits for the processes of lost systems: receives end with the loss, and communicators
/// with lost members are broken. Ends the job if this process has what does not survive a loss.
void handle_losses(Job& job);

/// Does that if there is a loss that this process has not handled. Costs two loads.
inline void handle_new_losses(Job& job) {
  if (job.engine->lost_count() != job.losses_handled.load(std::memory_order_acquire)) [[unlikely]]
    handle_losses(job);
}

/// Does the same for a new communicator, whose members may have been lost while it was made.
void break_if_lost(Job& job, Communicator& communicator);

/// Marks a call during which this process cannot go on if a system is lost.
class Indivisible {
 public:
  explicit Indivisible(Job& job) : job_(job) { job_.indivisible.fetch_add(1); }
  ~Indivisible() { job_.indivisible.fetch_sub(1); }
  Indivisible(const Indivisible&) = delete;
  Indivisible& operator=(const Indivisible&) = delete;

 private:
  Job& job_;
};

/// Reads, from time to time, what other members have told of communicators: for a process that
/// goes on after losses, in each of its waits.
void read_revocations(Job& job);

/// Returns the systems that are lost and handled and have members in a communicator, in either
/// group: bit i stands for system i.
[[nodiscard]] std::uint64_t lost_in(const Job& job, const Communicator& communicator);

/// Makes the job go on, or not, when a system is lost, as the error handler of the joined world
/// says, and tells the rendezvous server.
void follow_error_handler(Job& job);

}  // namespace impishim::shim
