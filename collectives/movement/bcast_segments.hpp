// SPDX-License-Identifier: Apache-2.0
/// Broadcast of long data from one process to all members of other clients, in segments. While one
/// segment is broadcast inside a client, the next ones are in transit.
///
/// Segments are cut from the data's packed form (transit_format()), which is the same for all types
/// that describe it. Contiguous memory is sent and received in place. At most kWindow segments are
/// in transit between two processes.
///
/// Where lengths may differ (Limits), the first message's tag tells how many messages there are,
/// and the others are awaited only then. A process that asked for more or less therefore receives
/// all that is sent, relays it, and ends in kTooLittle or kTruncation.
#pragma once

#include <cstdint>
#include <span>

#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/task.hpp"

namespace impishim::collectives {

inline constexpr std::size_t kWindow = 8;

/// Returns the number of messages for `data`: one if it is not longer than a segment, or if only
/// the forms of IMPI are allowed.
[[nodiscard]] std::uint64_t segment_count(const ConstData& data, const Limits& limits);

/// Runs the root's part: sends to one process of each other client.
Task send_segments(const Team& team, std::span<const std::int32_t> to, ConstData data);

/// Runs the part of a client's receiving process, which is `speaker` in `local`: receives segments,
/// relays them to other clients, and broadcasts them inside the client.
Task pass_on_segments(const Team& team, std::int32_t from, std::span<const std::int32_t> to,
                      LocalGroup& local, std::int32_t speaker, Data data);

/// Runs the part of the other members of that client.
Task take_segments(const Limits& limits, LocalGroup& local, std::int32_t speaker, Data data);

}  // namespace impishim::collectives
