/// From what all clients sent to what the job agrees on (IMPI 2.3.5, 3.9). Pure: labels in, JobMap
/// out.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/startup/startup_client.hpp"
#include "wire/startup/startup_message.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {

/// Data that the server concatenated for one label.
struct LabelData {
  std::uint32_t client_mask = 0;
  std::vector<std::byte> data;
};

/// The COLL labels of one client with their data, in the ascending order in which they are to be
/// sent.
[[nodiscard]] std::vector<std::pair<std::uint32_t, std::vector<std::byte>>> contributions(
    const JoinOptions& options);

/// Checks and combines. kProtocol or kConfiguration names the label and the clients that do not
/// agree.
[[nodiscard]] Result<JobMap> negotiate(std::int32_t client_count,
                                       const std::map<std::uint32_t, LabelData>& labels);

}  // namespace impishim::wire
