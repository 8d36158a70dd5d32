/// Long data from one process to all members of other clients, in segments: while one is spread
/// inside a client, the next ones are on their way.
///
/// Segments are cut from the data's packed form (transit_format()), which is the same for all types
/// that describe it. Contiguous memory is sent from and received into as it is. At most kWindow
/// segments are under way between two processes.
///
/// Where lengths may differ (Limits), the first message's tag tells how many there are, and the
/// others are awaited only then. So a process that has asked for more or less takes all that is
/// sent, passes it on, and ends in kTooLittle or kTruncation.
#pragma once

#include <cstdint>
#include <span>

#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/task.hpp"

namespace impishim::collectives {

inline constexpr std::size_t kWindow = 8;

/// Messages that the data becomes: one if it is not longer than a segment, or if only the forms of
/// IMPI are allowed.
[[nodiscard]] std::uint64_t segment_count(const ConstData& data, const Limits& limits);

/// The root's part: to one process of each other client.
Task send_segments(const Team& team, std::span<const std::int32_t> to, ConstData data);

/// Of the process that a client gets them by, `speaker` in `local`: receives, passes on to other
/// clients, spreads.
Task pass_on_segments(const Team& team, std::int32_t from, std::span<const std::int32_t> to,
                      LocalGroup& local, std::int32_t speaker, Data data);

/// Of the other members of that client.
Task take_segments(const Limits& limits, LocalGroup& local, std::int32_t speaker, Data data);

}  // namespace impishim::collectives
