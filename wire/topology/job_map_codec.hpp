/// A job map as bytes: from the process that negotiated it to the others of its system.
#pragma once

#include <span>
#include <vector>

#include "wire/topology/job_map.hpp"

namespace impishim::wire {

[[nodiscard]] std::vector<std::byte> encode_job_map(const JobMap& map);
/// kProtocol: not what encode_job_map() made.
[[nodiscard]] Result<JobMap> decode_job_map(std::span<const std::byte> bytes);

}  // namespace impishim::wire
