// SPDX-License-Identifier: Apache-2.0
#include "shim/comm/context.hpp"
#include <atomic>
#include <cstdint>
#include <span>

#include "shim/coll/collective.hpp"
#include "shim/coll/collective_arguments.hpp"
#include "shim/coll/collective_queue.hpp"
#include "shim/comm/blocking_creation.hpp"
#include "shim/error/errors.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/message/operation.hpp"

namespace impishim::shim {

wire::ContextId give_context(Job& job) {
  const std::uint64_t number = job.contexts_given.fetch_add(1, std::memory_order_relaxed);
  return kGivenContext | static_cast<std::uint64_t>(job.here) << 36U | number << 1U;
}

wire::ContextId random_context() {
  std::uint64_t number = 0;
  const auto filled = fill_with_random(std::as_writable_bytes(std::span(&number, 1)));
  if (!filled) end_job(1, filled.error().text);
  return kGivenContext | kRandomContext | (number & (kRandomContext - 1) & ~std::uint64_t{1});
}

std::uint64_t propose_context(Job& job, bool gives, const Communicator* parent) {
  if (parent != nullptr && parent->connects_jobs) return gives ? random_context() : 0;
  if (job.gives_contexts) return gives ? give_context(job) : 0;
  std::uint64_t mine = job.max_context.load();
  if (mine % 2 == 0) ++mine;
  return mine;
}

Result<wire::ContextId> settle_context(Job& job, std::uint64_t greatest) {
  if ((greatest & kGivenContext) != 0) return greatest;
  if (greatest >= kMaxContext - 1)
    return Error{ErrorKind::kConfiguration, "all context ids are used up"};
  job.max_context.store(greatest + 2);
  return greatest + 1;
}

int agree_on_context(Job& job, Communicator& parent, const char* function,
                     wire::ContextId& context) {
  const std::uint64_t mine = propose_context(job, parent.rank == 0, &parent);
  std::uint64_t greatest = 0;
  const int code = run_collective(job, parent, function, [&](Collective& call) {
    return collective_arguments::Allreduce(call, &mine, &greatest, 1, MPI_UINT64_T, MPI_MAX);
  });
  if (code != MPI_SUCCESS) {
    leave_creation(job, parent);
    return code;
  }
  const auto settled = settle_context(job, greatest);
  if (!settled) return raise(parent.handle, function, settled.error());
  context = *settled;
  return MPI_SUCCESS;
}

}  // namespace impishim::shim
