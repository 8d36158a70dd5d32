// SPDX-License-Identifier: Apache-2.0
/// The events of one thread as they lie in each other.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "wire/trace/trace_event.hpp"

namespace impishim::wire {

/// A step along the time of a thread.
struct TraceStep {
  enum class Kind : std::uint8_t { kBegin, kEnd, kInstant };
  Kind kind;
  std::int64_t at_ns;
  const TraceEvent* event;
};

/// Returns true if the event has a duration.
[[nodiscard]] constexpr bool lasts(const TraceEvent& event) {
  return event.kind == TraceKind::kCall || event.kind == TraceKind::kWait;
}

/// Calls `step` for each beginning, end and instant of one thread's events, ordered by time: what
/// begins inside of another event ends before that one, as on a stack. `events` are parts of one
/// list, in any order, and are sorted.
void walk_nested(std::span<const TraceEvent*> events,
                 const std::function<void(const TraceStep&)>& step);

}  // namespace impishim::wire
