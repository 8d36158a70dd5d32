// SPDX-License-Identifier: Apache-2.0
/// The levels of the simulation. Each runs one job that the seed alone determines, and throws a
/// Violation if a promise is broken.
#pragma once

#include <cstdint>

#include "tests/simulation/violation.hpp"

namespace impishim::wire::test {

/// Two resumable channels that carry random bytes both ways.
void run_stream_seed(std::uint64_t seed, SimulationTotals& totals);

/// Two channels of several connections each, as above.
void run_striped_seed(std::uint64_t seed, SimulationTotals& totals);

/// Engines of several systems that exchange messages over resumable channels.
void run_engine_seed(std::uint64_t seed, SimulationTotals& totals);

/// The same, and one of the systems is lost at some time: the others go on.
void run_loss_seed(std::uint64_t seed, SimulationTotals& totals);

}  // namespace impishim::wire::test
