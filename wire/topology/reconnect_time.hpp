// SPDX-License-Identifier: Apache-2.0
/// Which connections between hosts are taken up again when they are lost, how many there are, and
/// which are compressed. Pure functions.
#pragma once

#include <chrono>
#include <cstdint>

#include "wire/topology/job_map.hpp"

namespace impishim::wire {

/// Returns true if both hosts have the same address, or loopback addresses.
[[nodiscard]] bool on_one_machine(const Host& a, const Host& b);

/// Returns the time for which a lost connection between two hosts is tried again; 0: it ends the
/// job at once. It is 0 for foreign systems, over libfabric, and, unless the users have set
/// IMPISHIM_RECONNECT, on one machine. Both hosts get the same answer.
[[nodiscard]] std::chrono::seconds reconnect_time(const JobMap& job, std::int32_t host,
                                                  std::int32_t other);

/// Returns the most connections that a channel between two hosts has at once. It is 1 where lost
/// connections are not taken up again, since only those channels can have several.
[[nodiscard]] std::int32_t streams_between(const JobMap& job, std::int32_t host,
                                           std::int32_t other);

/// Returns how many of them are made at the beginning. With IMPISHIM_STREAMS=auto that is one for
/// each address of the host that accepts them.
[[nodiscard]] std::int32_t first_streams(const JobMap& job, std::int32_t host, std::int32_t other);

/// Returns true if what two hosts send to each other is compressed (IMPISHIM_COMPRESSION): never
/// for foreign systems and over libfabric. Both hosts get the same answer.
[[nodiscard]] bool compresses_between(const JobMap& job, std::int32_t host, std::int32_t other);

}  // namespace impishim::wire
