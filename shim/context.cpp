#include "shim/context.hpp"

#include "shim/handled.hpp"

namespace impishim::shim {

Result<wire::ContextId> agree_on_context(Job& job, const Communicator& parent) {
  std::uint64_t mine = job.max_context.load();
  if (mine % 2 == 0) ++mine;
  std::uint64_t highest = 0;
  if (calls::Allreduce(job, &mine, &highest, 1, MPI_UINT64_T, MPI_MAX, parent.handle) != MPI_SUCCESS) {
    return Error{ErrorKind::kConnection, "the members could not agree on a context id"};
  }
  if (highest >= kMaxContext - 1) return Error{ErrorKind::kConfiguration, "all context ids are used up"};
  job.max_context.store(highest + 2);
  return highest + 1;
}

}  // namespace impishim::shim
