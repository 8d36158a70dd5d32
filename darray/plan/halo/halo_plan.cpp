// SPDX-License-Identifier: Apache-2.0
// The planning of one rank's work in a halo exchange.
#include <algorithm>
#include <map>

#include "darray/base/error.hpp"
#include "darray/plan/core/detail/patches.hpp"
#include "darray/plan/halo/halo_runs.hpp"

namespace impishim::darray {
namespace {

using Kind = HaloRun::Kind;
using Runs = std::vector<HaloRun>;

/// The runs of one axis that this rank's part and another part share.
struct PartRuns {
  int part;
  Runs runs;
};

class HaloPlanner {
 public:
  HaloPlanner(int rank, const Distribution& layout, const HaloOptions& options)
      : rank_(rank),
        layout_(layout),
        options_(options),
        buffer_(buffer_shape(layout, rank, options.strides)) {
    place_ = *layout.grid().place_of(rank);
    parts_ = layout.parts(rank);
  }

  MessageList plan() {
    const auto axes = static_cast<std::size_t>(layout_.dimensions());
    std::vector<Runs> mine(axes);
    std::vector<std::vector<PartRuns>> sources(axes);
    std::vector<std::vector<PartRuns>> destinations(axes);
    for (std::size_t axis = 0; axis < axes; ++axis) {
      for (int part = 0; part < layout_.axes()[axis].map.parts(); ++part) {
        const Runs runs = halo_runs(layout_, static_cast<int>(axis), part, halo(axis));
        const Runs wanted = of_owner(runs, parts_[axis]);
        if (!wanted.empty()) destinations[axis].push_back({part, wanted});
        if (part == parts_[axis]) mine[axis] = runs;
      }
      for (const HaloRun& run : mine[axis]) {
        const bool known = std::ranges::any_of(
            sources[axis], [&](const PartRuns& each) { return each.part == run.owner; });
        if (run.kind == Kind::kFilled || known) continue;
        sources[axis].push_back({run.owner, of_owner(mine[axis], run.owner)});
      }
    }
    plan_receives(sources);
    plan_sends(destinations);
    if (std::ranges::any_of(mine, [](const Runs& runs) { return has_fills(runs); }))
      plan_fills(mine);
    return std::move(plan_);
  }

 private:
  [[nodiscard]] HaloAxis halo(std::size_t axis) const {
    return axis < options_.axes.size() ? options_.axes[axis] : HaloAxis{};
  }
  static Runs of_owner(const Runs& runs, int owner) {
    Runs found;
    std::ranges::copy_if(runs, std::back_inserter(found), [&](const HaloRun& run) {
      return run.kind != Kind::kFilled && run.owner == owner;
    });
    return found;
  }
  static bool has_fills(const Runs& runs) {
    return std::ranges::any_of(runs, [](const HaloRun& run) { return run.kind == Kind::kFilled; });
  }

  /// Returns the cells in the product of the runs, as a patch of the owner's buffer or of the
  /// receiver's buffer.
  [[nodiscard]] Patch patch_of(const std::vector<const HaloRun*>& runs, bool owner) const {
    Patch patch{buffer_.origin, {}};
    for (std::size_t axis = 0; axis < runs.size(); ++axis) {
      patch.offset += (owner ? runs[axis]->owner_local : runs[axis]->local) * buffer_.strides[axis];
      patch.dimensions.push_back({runs[axis]->count, buffer_.strides[axis]});
    }
    return patch;
  }

  /// Calls use(runs) for all products of runs that a halo exchange writes.
  template <class Use>
  void for_all_crossings(const std::vector<const Runs*>& axes, const Use& use) const {
    std::vector<std::size_t> extents;
    for (const Runs* runs : axes) extents.push_back(runs->size());
    std::vector<const HaloRun*> chosen(axes.size());
    for_all_tuples(extents, [&](const std::vector<std::size_t>& numbers) {
      int outside = 0;
      for (std::size_t axis = 0; axis < axes.size(); ++axis) {
        chosen[axis] = &(*axes[axis])[numbers[axis]];
        if (chosen[axis]->kind != Kind::kOwned) ++outside;
      }
      if (outside == 1 || (outside > 1 && options_.corners)) use(chosen);
    });
  }

  /// Calls use(rank, runs of each axis) for all peers.
  template <class Use>
  void for_all_partners(const std::vector<std::vector<PartRuns>>& axes, const Use& use) const {
    std::vector<std::size_t> extents;
    for (const auto& parts : axes) extents.push_back(parts.size());
    for_all_tuples(extents, [&](const std::vector<std::size_t>& numbers) {
      int place = place_;
      std::vector<const Runs*> runs(axes.size());
      for (std::size_t axis = 0; axis < axes.size(); ++axis) {
        const PartRuns& chosen = axes[axis][numbers[axis]];
        const int dimension = layout_.axes()[axis].grid_dimension;
        if (dimension != kNotDistributed)
          place += (chosen.part - parts_[axis]) * layout_.grid().stride(dimension);
        runs[axis] = &chosen.runs;
      }
      use(layout_.grid().rank_at(place), runs);
    });
  }

  void plan_receives(const std::vector<std::vector<PartRuns>>& sources) {
    for_all_partners(sources, [&](int owner, const std::vector<const Runs*>& runs) {
      Selection ghosts;
      for_all_crossings(runs, [&](const std::vector<const HaloRun*>& crossing) {
        if (owner == rank_) {
          plan_.add_local(patch_of(crossing, true), patch_of(crossing, false));
        } else {
          ghosts.add(patch_of(crossing, false));
        }
      });
      plan_.add_receive(owner, std::move(ghosts));
    });
  }

  void plan_sends(const std::vector<std::vector<PartRuns>>& destinations) {
    for_all_partners(destinations, [&](int reader, const std::vector<const Runs*>& runs) {
      if (reader == rank_) return;
      Selection cells;
      for_all_crossings(runs, [&](const std::vector<const HaloRun*>& crossing) {
        cells.add(patch_of(crossing, true));
      });
      plan_.add_send(reader, std::move(cells));
    });
  }

  void plan_fills(const std::vector<Runs>& mine) {
    std::vector<const Runs*> axes;
    for (const Runs& runs : mine) axes.push_back(&runs);
    for_all_crossings(axes, [&](const std::vector<const HaloRun*>& crossing) {
      if (std::ranges::any_of(crossing,
                              [](const HaloRun* run) { return run->kind == Kind::kFilled; })) {
        plan_.fills.add(patch_of(crossing, false));
      }
    });
  }

  int rank_;
  const Distribution& layout_;
  const HaloOptions& options_;
  BufferShape buffer_;
  int place_;
  std::vector<int> parts_;
  MessageList plan_;
};

}  // namespace

MessageList plan_halo(int rank, const Distribution& layout, const HaloOptions& options) {
  const auto axes = static_cast<std::size_t>(layout.dimensions());
  if (options.axes.size() > axes) {
    fail(ErrorKind::kArgument, "halos along {} axes of an array with {}", options.axes.size(),
         axes);
  }
  if (!options.strides.empty() && options.strides.size() != axes) {
    fail(ErrorKind::kArgument, "{} strides for an array with {} axes", options.strides.size(),
         axes);
  }
  if (!layout.is_member(rank)) return {};
  return HaloPlanner(rank, layout, options).plan();
}

}  // namespace impishim::darray
