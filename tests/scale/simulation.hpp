// SPDX-License-Identifier: Apache-2.0
/// The routing code (wire/topology/route.hpp) asked about every process of a large job.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "wire/topology/job_map.hpp"

namespace impishim::wire::test {

struct ScaleShape {
  std::int32_t systems = 2;
  std::int32_t hosts = 10000;         ///< of the whole job, divided evenly over the systems
  std::int32_t procs_of_a_host = 32;  ///< of each
  std::int32_t lanes = 1;             ///< between two hosts, at most
};

/// Maxima are over all processes or hosts of the job.
struct ScaleFigures {
  std::int32_t procs = 0;
  std::size_t local_queues = 0;           ///< most that a process keeps to others of its host
  std::size_t remote_queues = 0;          ///< most channels to other hosts that a process owns
  std::size_t fewest_remote_queues = 0;   ///< what the least loaded process owns
  std::size_t most_to_other_systems = 0;  ///< most channels of a process to hosts of other systems
  std::size_t connections_of_a_host = 0;
  std::size_t routing_bytes =
      0;  ///< heap of a process for the map of the job and its table of peers
  std::array<std::size_t, 4> routes{};  ///< of those drawn, by their number of hops
  double balance =
      0;  ///< channels to other systems: those of the process with most of them over the mean
};

[[nodiscard]] JobMap make_large_job(const ScaleShape& shape);

/// Draws `routes` pairs of processes in different systems, the same ones each time, and follows
/// each from hop to hop. Throws std::logic_error if a route does not arrive, or two ends of a
/// channel disagree about who owns it.
[[nodiscard]] ScaleFigures simulate(const ScaleShape& shape, std::size_t routes);

}  // namespace impishim::wire::test
