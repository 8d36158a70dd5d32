// SPDX-License-Identifier: Apache-2.0
/// A job's state in the text format of Prometheus, version 0.0.4
/// (prometheus.io/docs/instrumenting/exposition_formats).
#pragma once

#include <string>

#include "wire/watch/monitor_session.hpp"

namespace impishim::wire {

constexpr const char* kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

[[nodiscard]] std::string metrics_text(const JobState& state);

}  // namespace impishim::wire
