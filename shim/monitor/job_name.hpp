// SPDX-License-Identifier: Apache-2.0
/// A name by which files of one job's processes are known to belong together.
#pragma once

#include <string>

#include "wire/topology/job_map.hpp"

namespace impishim::shim {

/// Returns a text that is the same in all processes of a job, and another one in other jobs: a hash
/// of who its processes are.
[[nodiscard]] std::string name_of_job(const wire::JobMap& map);

}  // namespace impishim::shim
