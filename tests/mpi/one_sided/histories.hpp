// SPDX-License-Identifier: Apache-2.0
/// Checks that the recorded accumulates of several processes on one element have an order that
/// explains them: linearizability (Herlihy and Wing), for counters.
///
/// A counter's values number its updates, so the one order that can explain the values is known.
/// What remains of Wing and Gong's search is to compare that order with the times of the calls:
/// an operation that ended before another began must stand before it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace impishim_test {

/// One call: when it began and ended, by a clock that all processes share, and its place in the
/// order that the values tell. Operations of one place do not change the element, so any order of
/// them is as good.
struct Operation {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t place = 0;
};

/// A fetch of a counter that adds 1, and what it returned.
struct CountingFetch {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t fetched = 0;
};

/// A compare-and-swap that replaces `expected` by `expected` + 1, and what it returned.
struct CountingSwap {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t expected = 0;
  std::int64_t fetched = 0;
};

/// Returns true if no operation ended before one of an earlier place began.
inline bool follows_the_clock(std::vector<Operation> operations) {
  std::sort(operations.begin(), operations.end(),
            [](const Operation& a, const Operation& b) { return a.place < b.place; });
  // The latest begin of all operations of earlier places.
  auto latest_before = std::numeric_limits<std::int64_t>::min();
  for (auto same = operations.begin(); same != operations.end();) {
    const auto next = std::find_if(
        same, operations.end(), [&](const Operation& each) { return each.place != same->place; });
    auto latest = latest_before;
    for (; same != next; ++same) {
      if (same->end < latest_before) return false;
      latest = std::max(latest, same->begin);
    }
    latest_before = latest;
  }
  return true;
}

/// Returns true if some order of the fetches, in which none overtakes one that ended before it
/// began, explains what they returned of a counter that began at 0.
inline bool is_linearizable(std::vector<CountingFetch> fetches) {
  std::sort(fetches.begin(), fetches.end(),
            [](const CountingFetch& a, const CountingFetch& b) { return a.fetched < b.fetched; });
  std::vector<Operation> operations;
  for (const CountingFetch& fetch : fetches) {
    // Each number is fetched once.
    if (fetch.fetched != static_cast<std::int64_t>(operations.size())) return false;
    operations.push_back({fetch.begin, fetch.end, fetch.fetched});
  }
  return follows_the_clock(std::move(operations));
}

/// The same for compare-and-swaps: one that fetched what it expected has changed the counter, and
/// another one has only read it.
inline bool is_linearizable(const std::vector<CountingSwap>& swaps) {
  std::vector<Operation> operations;
  std::vector<std::int64_t> changed;
  std::int64_t least = 0;
  std::int64_t greatest = 0;
  for (const CountingSwap& swap : swaps) {
    const bool changes = swap.fetched == swap.expected;
    operations.push_back({swap.begin, swap.end, 2 * swap.fetched + (changes ? 1 : 0)});
    if (changes) changed.push_back(swap.fetched);
    least = std::min(least, swap.fetched);
    greatest = std::max(greatest, swap.fetched);
  }
  // Each value is changed once, and none is read that was never written.
  std::sort(changed.begin(), changed.end());
  for (std::size_t i = 0; i < changed.size(); ++i) {
    if (changed[i] != static_cast<std::int64_t>(i)) return false;
  }
  if (least < 0 || greatest > static_cast<std::int64_t>(changed.size())) return false;
  return follows_the_clock(std::move(operations));
}

}  // namespace impishim_test
