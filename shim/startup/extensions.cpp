// SPDX-License-Identifier: Apache-2.0
// The functions of include/impishim/impishim.h.
#include "impishim/impishim.h"

#include "shim/job/job.hpp"
#include "wire/base/log.hpp"
#include "wire/engine/engine.hpp"
#include "wire/peer/engine_counters.hpp"

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
  *counters = {all.messages_sent, all.payload_bytes_sent, all.messages_received,
               all.payload_bytes_received};
  return MPI_SUCCESS;
}

IMPISHIM_PUBLIC int impishim_get_hops(impishim_hops* hops) {
  if (hops == nullptr) return MPI_ERR_ARG;
  *hops = {};
  const impishim::shim::Job* job = impishim::shim::joined();
  if (job == nullptr) return MPI_SUCCESS;
  const impishim::wire::EngineCounters all = job->engine->counters();
  const auto hop = [](const impishim::wire::HopTraffic& traffic) {
    return impishim_hop{traffic.packets, traffic.bytes};
  };
  *hops = {hop(all.local_origin), hop(all.local_relay),    hop(all.remote_origin),
           hop(all.remote_relay), hop(all.local_received), hop(all.remote_received)};
  return MPI_SUCCESS;
}

IMPISHIM_PUBLIC int impishim_dump_state() {
  const impishim::shim::Job* job = impishim::shim::joined();
  if (job != nullptr)
    impishim::log_line(impishim::LogArea::kStartup, impishim::LogLevel::kInfo,
                       job->engine->report());
  return MPI_SUCCESS;
}
