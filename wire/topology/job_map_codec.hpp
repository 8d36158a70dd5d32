// SPDX-License-Identifier: Apache-2.0
/// Encoding of a job map, which the process that negotiated it sends to the others of its system.
#pragma once

#include <span>
#include <vector>

#include "wire/topology/job_map.hpp"

namespace impishim::wire {

/// Returns the encoding of `map`.
[[nodiscard]] std::vector<std::byte> encode_job_map(const JobMap& map);
/// Fails with kProtocol if `bytes` are not a result of encode_job_map().
[[nodiscard]] Result<JobMap> decode_job_map(std::span<const std::byte> bytes);

}  // namespace impishim::wire
