// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/virtual_clock.hpp"

#include <algorithm>
#include <utility>

#include "wire/base/assert.hpp"

namespace impishim::wire::test {

void VirtualClock::at(VirtualTime time, Action action) {
  IMPISHIM_ASSERT(time >= now_);
  heap_.push_back({time, made_++, std::move(action)});
  std::ranges::push_heap(heap_, later);
}

bool VirtualClock::run_next() {
  if (heap_.empty()) return false;
  std::ranges::pop_heap(heap_, later);
  const Event event = std::move(heap_.back());
  heap_.pop_back();
  now_ = event.time;
  event.action();
  return true;
}

void VirtualClock::clear() {
  // Channels make new events when they are closed.
  const std::vector<Event> forgotten = std::exchange(heap_, {});
}

}  // namespace impishim::wire::test
