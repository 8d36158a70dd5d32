// SPDX-License-Identifier: Apache-2.0
/// Computes what the job agrees on from the labels of all clients (IMPI 2.3.5, 3.9). Pure
/// functions: labels in, JobMap out.
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

/// The data that the server concatenated for one label.
struct LabelData {
  std::uint32_t client_mask = 0;
  std::vector<std::byte> data;
};

/// Returns the COLL labels of one client with their data, in the ascending order in which they must
/// be sent.
[[nodiscard]] std::vector<std::pair<std::uint32_t, std::vector<std::byte>>> contributions(
    const JoinOptions& options);

/// Returns the version of the protocol that impishim systems use in addition to IMPI.
[[nodiscard]] std::uint32_t impishim_protocol();

/// Checks and combines the labels of all clients. Fails with kProtocol or kConfiguration; the text
/// names the label and the clients that disagree.
[[nodiscard]] Result<JobMap> negotiate(std::int32_t client_count,
                                       const std::map<std::uint32_t, LabelData>& labels);

}  // namespace impishim::wire
