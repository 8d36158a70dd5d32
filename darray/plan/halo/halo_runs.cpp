// SPDX-License-Identifier: Apache-2.0
#include "darray/plan/halo/halo_runs.hpp"

#include <algorithm>

#include "darray/base/error.hpp"

namespace impishim::darray {
namespace {

HaloMode resolved(HaloMode mode, const Axis& axis) {
  if (mode != HaloMode::kAuto) return mode;
  return axis.periodic ? HaloMode::kCyclic : HaloMode::kEdge;
}

/// Returns the width of one side for a part. `may_be_less` is true where no ghosts are needed: at
/// an end of an axis that is not a ring, and at a boundary.
Index width(Index wanted, Index allocated, bool may_be_less, int axis, int part, const char* side) {
  if (wanted < 0) fail(ErrorKind::kArgument, "axis {}: {} halo of {} cells", axis, side, wanted);
  if (wanted <= allocated) return wanted;
  if (may_be_less) return allocated;
  fail(ErrorKind::kLayout, "axis {}: {} halo of {} cells, but part {} has {} ghosts there", axis,
       side, wanted, part, allocated);
}

Ghosts widths_of(const Axis& axis, int number, int part, const HaloAxis& halo, bool ring) {
  const Ghosts allocated =
      axis.ghosts.empty() ? Ghosts{} : axis.ghosts[static_cast<std::size_t>(part)];
  if (!halo.widths) return allocated;
  const bool first = part == 0;
  const bool last = part == axis.map.parts() - 1;
  return {width(halo.widths->lower, allocated.lower, first && (!ring || axis.boundary.lower > 0),
                number, part, "a lower"),
          width(halo.widths->upper, allocated.upper, last && (!ring || axis.boundary.upper > 0),
                number, part, "an upper")};
}

/// Lists the cells of an axis around one part.
class RunLister {
 public:
  RunLister(const Axis& axis, int part, HaloMode mode) : map_(axis.map), part_(part), mode_(mode) {
    begin_ = map_.block_of(part).first;
    end_ = map_.extent();
    if (mode == HaloMode::kCyclic && axis.periodic) {
      first_ = axis.boundary.lower;
      end_ -= axis.boundary.upper;
    }
  }

  std::vector<HaloRun> list(const Ghosts& widths) {
    const auto [begin, end] = map_.block_of(part_);
    const Index own_begin = std::min(std::max(begin, first_), end);
    const Index own_end = std::max(own_begin, std::min(end, end_));
    add_outside(begin - widths.lower, own_begin);
    if (own_begin < own_end) {
      runs_.push_back({HaloRun::Kind::kOwned, own_begin - begin, own_end - own_begin, part_,
                       own_begin - begin});
    }
    add_outside(own_end, end + widths.upper);
    return std::move(runs_);
  }

 private:
  // Adds the cells [from, to) of the infinitely extended axis. None of them is in the part's own
  // interior.
  void add_outside(Index from, Index to) {
    const Index period = end_ - first_;
    while (from < to) {
      const bool inside = from >= first_ && from < end_;
      if (!inside && mode_ != HaloMode::kCyclic) {
        const Index stop = from < first_ ? std::min(to, first_) : to;
        if (mode_ == HaloMode::kFill)
          runs_.push_back({HaloRun::Kind::kFilled, from - begin_, stop - from, 0, 0});
        from = stop;
        continue;
      }
      if (period <= 0) return;
      const Index turn = (from - first_) % period;
      const Index cell = first_ + (turn < 0 ? turn + period : turn);
      const int owner = map_.owner(cell);
      const auto [block_begin, block_end] = map_.block_of(owner);
      const Index count = std::min({to - from, block_end - cell, end_ - cell});
      runs_.push_back({HaloRun::Kind::kCopied, from - begin_, count, owner, cell - block_begin});
      from += count;
    }
  }

  const DimMap& map_;
  int part_;
  HaloMode mode_;
  Index begin_;      // first cell of the part
  Index first_ = 0;  // the interior of the axis: [first_, end_)
  Index end_;
  std::vector<HaloRun> runs_;
};

}  // namespace

std::vector<HaloRun> halo_runs(const Distribution& layout, int axis, int part,
                               const HaloAxis& halo) {
  const Axis& here = layout.axis(axis);
  const HaloMode mode = resolved(halo.mode, here);
  const Ghosts widths = widths_of(here, axis, part, halo, mode == HaloMode::kCyclic);
  const bool blocks =
      here.map.kind() == DimMap::Kind::kBlock || here.map.kind() == DimMap::Kind::kCollapsed;
  if (!blocks || mode == HaloMode::kNone) {
    if (!blocks && mode == HaloMode::kCyclic && here.periodic && here.boundary != Ghosts{}) {
      fail(ErrorKind::kUnsupported,
           "axis {}: a periodic boundary on a map whose parts are no blocks", axis);
    }
    return {{HaloRun::Kind::kOwned, 0, here.map.owned(part), part, 0}};
  }
  return RunLister(here, part, mode).list(widths);
}

}  // namespace impishim::darray
