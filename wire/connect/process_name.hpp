/// How messages name a process of the job, so that a user finds it: by world rank, node and pid.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "wire/topology/job_map.hpp"
#include "wire/topology/route.hpp"

namespace impishim::wire {

/// "rank 5 (pid 4711 on node17)"; the node is an address where its name is not known.
[[nodiscard]] std::string process_name(const JobMap& job, WorldRank rank);

/// Names the process with an index in this host.
using ProcessNamer = std::function<std::string(std::int32_t index)>;
/// "process 3 of this host": where no map tells more.
[[nodiscard]] std::string process_of_this_host(std::int32_t index);

}  // namespace impishim::wire
