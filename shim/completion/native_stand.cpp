// SPDX-License-Identifier: Apache-2.0
#include "shim/completion/native_stand.hpp"
#include <atomic>

#include "shim/job/job.hpp"
#include "shim/job/stand_watch.hpp"
#include "shim/request/any_source.hpp"

namespace impishim::shim {

NativeStand::NativeStand(Job& job, const VendorCallKind& call)
    : job_(job), stands_(job.needs_caller.load(std::memory_order_relaxed) != 0 && enter(call)) {}

/// Returns true if the call must be marked. If several threads may be in MPI at once, another
/// thread can make the progress that needs a thread, so no mark is needed. At the end of the job
/// nothing is outstanding.
bool NativeStand::enter(const VendorCallKind& call) {
  if (job_.thread_level == MPI_THREAD_MULTIPLE || job_.progress == nullptr ||
      !job_.stand_watch.enter(call))
    return false;
  job_.engine->send_batches();
  if (!job_.outstanding.none()) job_.engine->poll(false);
  settle_contested(job_);
  job_.outstanding.step(job_);
  job_.progress->start_ticking();
  return true;
}

void NativeStand::leave() {
  job_.stand_watch.leave();
  job_.engine->end_relief();
}

}  // namespace impishim::shim
