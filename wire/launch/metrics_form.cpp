// SPDX-License-Identifier: Apache-2.0
#include "wire/launch/metrics_form.hpp"

#include <stdlib.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "wire/base/result.hpp"
#include "wire/watch/metrics_service.hpp"

namespace impishim::launch {

Result<std::unique_ptr<wire::MetricsService>> open_metrics() {
  auto metrics = wire::MetricsService::from_environment();
  if (metrics && *metrics)
    std::fprintf(stderr, "impirun: metrics at %s\n", (*metrics)->url().c_str());
  return metrics;
}

Result<std::unique_ptr<wire::MetricsService>> open_metrics_of_own_job() {
  auto metrics = open_metrics();
  if (!metrics || !*metrics) return metrics;
  const char* monitor = secure_getenv("IMPISHIM_MONITOR");
  if (monitor != nullptr && std::strcmp(monitor, "off") == 0) {
    return Error{ErrorKind::kConfiguration,
                 "IMPISHIM_METRICS has no numbers with IMPISHIM_MONITOR=off: unset one of the two"};
  }
  setenv("IMPISHIM_MONITOR", "on", 0);
  return metrics;
}

}  // namespace impishim::launch
