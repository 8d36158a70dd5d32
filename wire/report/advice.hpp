// SPDX-License-Identifier: Apache-2.0
/// What the statistics of a job suggest to change, in words with numbers.
#pragma once

#include <string>
#include <vector>

#include "wire/report/job_statistics.hpp"

namespace impishim::report {

/// Returns one sentence or two for each finding, the greatest first in its kind. Empty if nothing
/// stands out.
[[nodiscard]] std::vector<std::string> advice_for(const JobStatistics& job);

}  // namespace impishim::report
