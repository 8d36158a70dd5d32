// SPDX-License-Identifier: Apache-2.0
/// What a process keeps, and what startup takes, in jobs of any size with hosts by the size of the
/// job (wire/topology/host_size.hpp). The library's own code decides, is asked and is measured.
#pragma once

#include <cstddef>
#include <cstdint>

namespace impishim::wire::test {

/// Systems of the same size, on nodes of the same size.
struct JobSize {
  std::int32_t systems = 2;
  std::int32_t procs_of_a_system = 1;
  std::int32_t procs_of_a_node = 32;
  std::int32_t lanes = 1;  ///< IMPISHIM_LANES
};

/// Maxima are over all processes.
struct JobCost {
  std::int32_t host_procs = 0;    ///< most processes of an IMPI host
  std::size_t channels = 0;       ///< to hosts of other systems
  std::size_t local_links = 0;    ///< to processes of the same host
  std::size_t descriptors = 0;    ///< sockets of these
  std::size_t routing_bytes = 0;  ///< heap for the map of the job and the table of peers
  std::size_t channel_bytes = 0;  ///< heap of the engine for the channels and links
  std::size_t ring_bytes = 0;     ///< shared memory of the links, if each has been used fully
  double relayed = 0;             ///< share of the routes with more than one hop
  double hops = 0;                ///< mean of the routes
};

/// What the process of a system that speaks with the rendezvous server sends and receives.
struct StartupCost {
  int round_trips = 0;
  std::size_t sent = 0;       ///< bytes of labels
  std::size_t received = 0;   ///< bytes of answers
  std::size_t broadcast = 0;  ///< bytes of the map, which it passes to each process of its system
};

/// Follows `routes` routes between processes of different systems.
[[nodiscard]] JobCost cost_of(const JobSize& size, std::size_t routes);
[[nodiscard]] StartupCost startup_of(const JobSize& size);

}  // namespace impishim::wire::test
