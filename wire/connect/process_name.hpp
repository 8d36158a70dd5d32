// SPDX-License-Identifier: Apache-2.0
/// Names of the job's processes in messages, with which a user can find the process: world rank,
/// node and pid.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "wire/topology/job_map.hpp"
#include "wire/topology/route.hpp"

namespace impishim::wire {

/// Returns a name such as "rank 5 (pid 4711 on node17)". If the name of the node is unknown, its
/// address is used.
[[nodiscard]] std::string process_name(const JobMap& job, WorldRank rank);

/// Returns the name of the process with an index in this host.
using ProcessNamer = std::function<std::string(std::int32_t index)>;
/// Returns "process 3 of this host". Used where no job map is available.
[[nodiscard]] std::string process_of_this_host(std::int32_t index);

}  // namespace impishim::wire
