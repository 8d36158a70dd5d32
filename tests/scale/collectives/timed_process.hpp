// SPDX-License-Identifier: Apache-2.0
/// One process of a timed job: its clock, and what it awaits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <queue>
#include <utility>
#include <vector>

#include "collectives/collectives.hpp"
#include "tests/scale/collectives/network.hpp"

namespace impishim::scale {

using collectives::Pending;

/// Something that a process awaits, which is over at a time that may lie in its future.
class TimedPending final : public Pending {
 public:
  TimedPending(double& clock, bool in_vendor) : clock_(clock), in_vendor_(in_vendor) {}
  void complete(double at) {
    at_ = at;
    over_ = true;
  }
  bool done() override { return over_; }
  Result<void> outcome() override {
    awaited_ = true;
    clock_ = std::max(clock_, at_);
    return {};
  }
  [[nodiscard]] bool in_vendor() const override { return in_vendor_; }
  [[nodiscard]] bool awaited() const { return awaited_; }

 private:
  double& clock_;
  bool in_vendor_;
  bool over_ = false;
  bool awaited_ = false;
  double at_ = 0;
};

/// All messages of a process that nothing else awaits.
class AllPosted final : public Pending {
 public:
  explicit AllPosted(std::deque<TimedPending>& posted) : posted_(posted) {}
  bool done() override {
    while (first_ < posted_.size() && (posted_[first_].awaited() || posted_[first_].done()))
      ++first_;
    return first_ == posted_.size();
  }
  Result<void> outcome() override {
    for (TimedPending& each : posted_) {
      if (!each.awaited()) (void)each.outcome();
    }
    return {};
  }
  [[nodiscard]] bool in_vendor() const override { return false; }

 private:
  std::deque<TimedPending>& posted_;
  std::size_t first_ = 0;
};

/// Processes that may go on, the earliest first.
class Agenda {
 public:
  void add(double at, std::int32_t rank) { entries_.emplace(at, rank); }
  [[nodiscard]] bool empty() const { return entries_.empty(); }
  std::int32_t take() {
    const std::int32_t rank = entries_.top().second;
    entries_.pop();
    return rank;
  }

 private:
  using Entry = std::pair<double, std::int32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> entries_;
};

/// A collective phase of one system, by the vendor. Members join in their own time.
struct Phase {
  struct Waiting {
    TimedPending* pending = nullptr;
    std::int32_t rank = 0;
    double joined = 0;
    double takes = 0;
  };
  std::size_t joined = 0;
  double latest = 0;           ///< clock of the last that has joined
  double root = -1;            ///< clock of the root, once it has joined
  std::vector<Waiting> waits;  ///< for all, or for the root
};

}  // namespace impishim::scale
