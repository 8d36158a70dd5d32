/// The job's secret, made from what each impishim client contributes through the rendezvous server.
#pragma once

#include <vector>

#include "wire/base/result.hpp"
#include "wire/base/secret.hpp"
#include "wire/startup/negotiation.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {

/// Returns SHA-256 over a fixed text and the contributions in client order. `contributions`: the
/// answer to StartupLabel::kSecret, null if there was none. kProtocol: not exactly one contribution
/// from each impishim client. Other errors: as sha256().
[[nodiscard]] Result<JobSecret> combine_secret(const LabelData* contributions,
                                               const std::vector<Client>& clients);

}  // namespace impishim::wire
