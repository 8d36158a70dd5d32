// SPDX-License-Identifier: Apache-2.0
#include "wire/trace/nesting.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "wire/trace/trace_event.hpp"

namespace impishim::wire {
namespace {

struct Open {
  const TraceEvent* event;
  std::int64_t end_ns;  ///< not later than that of the event around it
};

/// Returns true if `left` comes first: it begins earlier, or lies around `right`.
bool comes_before(const TraceEvent* left, const TraceEvent* right) {
  if (left->begin_ns != right->begin_ns) return left->begin_ns < right->begin_ns;
  if (left->end_ns != right->end_ns) return left->end_ns > right->end_ns;
  if (left->kind != right->kind) return left->kind < right->kind;
  return std::less<>()(left, right);  // both are parts of one list, in its order
}

/// Returns true if the open event has ended when `next` begins.
bool is_over(const Open& open, const TraceEvent& next) {
  return open.end_ns < next.begin_ns || (open.end_ns == next.begin_ns && lasts(next));
}

}  // namespace

void walk_nested(std::span<const TraceEvent*> events,
                 const std::function<void(const TraceStep&)>& step) {
  std::ranges::sort(events, comes_before);
  std::vector<Open> open;
  const auto end_latest = [&] {
    step({TraceStep::Kind::kEnd, open.back().end_ns, open.back().event});
    open.pop_back();
  };
  for (const TraceEvent* each : events) {
    while (!open.empty() && is_over(open.back(), *each)) end_latest();
    if (!lasts(*each)) {
      step({TraceStep::Kind::kInstant, each->begin_ns, each});
      continue;
    }
    const std::int64_t bound = open.empty() ? each->end_ns : open.back().end_ns;
    step({TraceStep::Kind::kBegin, each->begin_ns, each});
    open.push_back({each, std::min(each->end_ns, bound)});
  }
  while (!open.empty()) end_latest();
}

}  // namespace impishim::wire
