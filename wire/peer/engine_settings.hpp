// SPDX-License-Identifier: Apache-2.0
/// What every part of an engine is given. Only the job and the formats change, when processes of
/// another job are connected: they grow.
#pragma once

#include <cstdint>
#include <vector>

#include "wire/data/basic_type.hpp"
#include "wire/peer/relay_options.hpp"
#include "wire/topology/current_map.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {

struct EngineSettings {
  CurrentMap job;
  WorldRank here;                        ///< this process
  ProcId my_id;                          ///< its name in packets
  std::vector<Format> format_of_client;  ///< representation of payloads; indexed by client
  std::uint32_t datalen;                 ///< most payload bytes of a packet
  RelayOptions relay;

  /// Returns true if the process runs this library, too.
  [[nodiscard]] bool is_ours(WorldRank rank) const {
    return job.client(job.proc(rank).client).impishim;
  }
  [[nodiscard]] Format format_of(WorldRank rank) const {
    return format_of_client[static_cast<std::size_t>(job.proc(rank).client)];
  }
};

}  // namespace impishim::wire
