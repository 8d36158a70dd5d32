// SPDX-License-Identifier: Apache-2.0
#include "shim/comm/own_communicator.hpp"

#include <mpi.h>

#include <cstdint>

#include "shim/comm/blocking_creation.hpp"
#include "shim/comm/communicator_make.hpp"
#include "shim/comm/context.hpp"
#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "shim/vendor.hpp"
#include "wire/message/operation.hpp"

namespace impishim::shim {

bool has_foreign_members(const Job& job, const Communicator& communicator) {
  for (const std::int32_t master : communicator.masters) {
    if (!job.map.client(job.map.proc(communicator.world_rank(master)).client).impishim) return true;
  }
  return false;
}

int make_own_communicator(Job& job, Communicator& parent, const char* function, MPI_Comm* made) {
  wire::ContextId context = 0;
  int code = agree_on_context(job, parent, function, context);
  if (code != MPI_SUCCESS) return code;
  const BlockingCreation creation(job, parent);
  code = creation.code();
  if (code == MPI_SUCCESS) code = vendor::Comm_split(parent.handle, 0, parent.rank, made);
  if (code == MPI_SUCCESS)
    code = make_communicator(job, parent.handle, made, context, parent.members);
  return code == MPI_SUCCESS ? vendor::Comm_set_errhandler(*made, MPI_ERRORS_RETURN) : code;
}

}  // namespace impishim::shim
