// SPDX-License-Identifier: Apache-2.0
/// IMPISHIM_METRICS in the forms of impirun that have a rendezvous server.
#pragma once

#include <memory>

#include "wire/base/result.hpp"
#include "wire/watch/metrics_service.hpp"

namespace impishim::launch {

/// Opens what IMPISHIM_METRICS asks for, and tells where it is. Null if it asks for nothing.
[[nodiscard]] Result<std::unique_ptr<wire::MetricsService>> open_metrics();

/// Like open_metrics(), and makes the processes that this program starts answer. Fails with
/// kConfiguration if they may not.
[[nodiscard]] Result<std::unique_ptr<wire::MetricsService>> open_metrics_of_own_job();

}  // namespace impishim::launch
