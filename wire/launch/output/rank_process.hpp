// SPDX-License-Identifier: Apache-2.0
/// The process that stands in front of a rank's program, where a launcher executes `impirun
/// -rank-output`.
#pragma once

#include <string>
#include <vector>

#include "wire/base/result.hpp"

namespace impishim::launch {

/// Runs `words`: those of a RankOutputRequest and a command. The outputs go where the request says,
/// and this process becomes the program. If lines have to be labelled and impirun is on another
/// machine, this process stays beside the program instead: it labels the lines, passes on signals,
/// and returns the program's status. Fails with kConfiguration or kSystem if the program cannot be
/// started.
[[nodiscard]] Result<int> run_rank_process(const std::vector<std::string>& words);

}  // namespace impishim::launch
