// The functions of include/impishim/impishim.h.
#include "impishim/impishim.h"

#include "shim/job.hpp"

#define IMPISHIM_PUBLIC extern "C" __attribute__((visibility("default")))

IMPISHIM_PUBLIC int impishim_comm_world(MPI_Comm* comm) {
  if (comm == nullptr) return MPI_ERR_ARG;
  const impishim::shim::Job* job = impishim::shim::joined();
  *comm = job != nullptr ? job->joined_world : MPI_COMM_WORLD;
  return MPI_SUCCESS;
}

IMPISHIM_PUBLIC int impishim_get_counters(impishim_counters* counters) {
  if (counters == nullptr) return MPI_ERR_ARG;
  *counters = {};
  const impishim::shim::Job* job = impishim::shim::joined();
  if (job == nullptr) return MPI_SUCCESS;
  const impishim::wire::EngineCounters all = job->engine->counters();
  *counters = {all.messages_sent, all.payload_bytes_sent, all.messages_received, all.payload_bytes_received};
  return MPI_SUCCESS;
}
