// SPDX-License-Identifier: Apache-2.0
/// The job's secret, computed from the contributions that the impishim clients exchange through the
/// rendezvous server.
#pragma once

#include <vector>

#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/startup/negotiation.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {

/// Returns the SHA-256 digest of a fixed text and the contributions in client order.
/// `contributions` is the answer to StartupLabel::kSecret, or null if there was none. Fails with
/// kProtocol unless there is exactly one contribution from each impishim client. Fails also as
/// sha256() does.
[[nodiscard]] Result<JobSecret> combine_secret(const LabelData* contributions,
                                               const std::vector<Client>& clients);

}  // namespace impishim::wire
