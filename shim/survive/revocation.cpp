// SPDX-License-Identifier: Apache-2.0
// MPIX_Comm_revoke: a notice to all members (job/failure_notices.hpp). A communicator that is
// revoked is broken for collectives; point-to-point operations look for `revoked` whenever they
// make progress, and are cancelled.
#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <utility>

#include "shim/coll/collective_queue.hpp"
#include "shim/error/errors.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "shim/job/lost_systems.hpp"
#include "shim/survive/survivor_calls.hpp"
#include "shim/values/failure_notice.hpp"

namespace impishim::shim {
namespace {

/// Rounds of progress between two readings of the clock, and the time between two looks for
/// notices.
constexpr std::uint32_t kRoundsPerReading = 16;
constexpr std::chrono::milliseconds kLookInterval{5};

FailureNotice revocation_of(const Job& job, const Communicator& communicator) {
  return {.context = communicator.context,
          .kind = FailureNotice::Kind::kRevoked,
          .error_class = revoked_class(),
          .origin = job.here,
          .text = "the communicator is revoked"};
}

/// Revokes a communicator in this process. Returns false if it was revoked before.
bool revoke_here(const Job& job, Communicator& communicator) {
  if (communicator.revoked.exchange(true)) return false;
  communicator.collectives->break_with(revocation_of(job, communicator));
  communicator.broken.store(true, std::memory_order_release);
  return true;
}

}  // namespace

int revoke_communicator(Job& job, Communicator& communicator) {
  // Each member passes it on: the first may be lost before it has told all.
  if (revoke_here(job, communicator))
    job.failure_notices.tell(job, communicator, revocation_of(job, communicator));
  return MPI_SUCCESS;
}

void read_revocations(Job& job) {
  static thread_local std::uint32_t rounds = 0;
  static thread_local std::chrono::steady_clock::time_point next;
  if (++rounds % kRoundsPerReading != 0) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < next) return;
  next = now + kLookInterval;
  job.failure_notices.poll(job);
  for (FailureNotice& notice : job.failure_notices.take_revocations()) {
    const auto communicators = job.communicators.all();
    const auto found = std::ranges::find(communicators, notice.context, &Communicator::context);
    if (found != communicators.end())
      static_cast<void>(revoke_communicator(job, **found));
    else
      job.failure_notices.put_back(std::move(notice));
  }
}

}  // namespace impishim::shim
