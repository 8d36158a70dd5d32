// The functions of include/impishim/impishim.h.
#include "impishim/impishim.h"

#include "shim/job.hpp"

extern "C" __attribute__((visibility("default"))) int impishim_comm_world(MPI_Comm* comm) {
  if (comm == nullptr) return MPI_ERR_ARG;
  const impishim::shim::Job* job = impishim::shim::joined();
  *comm = job != nullptr ? job->joined_world : MPI_COMM_WORLD;
  return MPI_SUCCESS;
}
