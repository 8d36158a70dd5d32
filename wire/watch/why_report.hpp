// SPDX-License-Identifier: Apache-2.0
/// What `impirun -why` prints: what each rank waits for, and what cannot end.
#pragma once

#include <string>

#include "wire/watch/monitor_session.hpp"
#include "wire/watch/wait_graph.hpp"

namespace impishim::wire {

/// Returns lines for a person. Ranks that wait alike share a line.
[[nodiscard]] std::string why_text(const JobState& state, const WaitFindings& findings);
/// Returns the same as one JSON object with a newline, for scripts.
[[nodiscard]] std::string why_json(const JobState& state, const WaitFindings& findings);

}  // namespace impishim::wire
