// SPDX-License-Identifier: Apache-2.0
#include "darray/plan/remap/relabel.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "darray/plan/core/detail/patches.hpp"
#include "darray/plan/remap/detail/axis_pairs.hpp"
#include "darray/plan/remap/detail/copies.hpp"

namespace impishim::darray {
namespace {

/// The elements that a place of the destination's grid needs from one piece of the source.
struct Need {
  int piece;  // the primary copy of the piece
  Index elements;
};

/// The needs of every place of the destination's grid, independent of the rank at the place.
class Needs {
 public:
  Needs(const RemapSide& destination, const RemapSide& source, const std::vector<int>& permutation)
      : to_(destination.layout),
        from_(source.layout),
        pairs_(pair_axes(destination, source, permutation, true)) {
    for (int place = 0; place < to_.grid().size(); ++place) places_.push_back(needs_of(place));
  }

  [[nodiscard]] const std::vector<Need>& of(int place) const {
    return places_[static_cast<std::size_t>(place)];
  }
  [[nodiscard]] int count() const { return static_cast<int>(places_.size()); }
  [[nodiscard]] const Distribution& source() const { return from_; }

 private:
  struct Partner {
    int weight;  // the part's contribution to the place in the source's grid
    Index elements;
  };

  [[nodiscard]] std::vector<Partner> partners_along(const AxisPair& pair, int place) const {
    const auto& [to, from] = pair;
    const int to_dimension =
        to.axis == PairedAxis::kNoAxis ? kNotDistributed : to_.axis(to.axis).grid_dimension;
    const int from_dimension =
        from.axis == PairedAxis::kNoAxis ? kNotDistributed : from_.axis(from.axis).grid_dimension;
    const int part =
        to_dimension == kNotDistributed ? 0 : to_.grid().coordinate(place, to_dimension);
    const int stride = from_dimension == kNotDistributed ? 0 : from_.grid().stride(from_dimension);
    std::vector<Partner> found;
    for (const int other : partners(to.map, part, to.section, from.map, from.section)) {
      Index elements = 0;
      for (const Overlap& each : common_elements(pair, other, part, true))
        elements += each.elements();
      found.push_back({other * stride, elements});
    }
    return found;
  }

  [[nodiscard]] std::vector<Need> needs_of(int place) const {
    std::vector<std::vector<Partner>> axes;
    std::vector<std::size_t> extents;
    for (const AxisPair& pair : pairs_) {
      axes.push_back(partners_along(pair, place));
      extents.push_back(axes.back().size());
    }
    std::vector<Need> needs;
    for_all_tuples(extents, [&](const std::vector<std::size_t>& numbers) {
      int source_place = 0;
      Index elements = 1;
      for (std::size_t k = 0; k < axes.size(); ++k) {
        source_place += axes[k][numbers[k]].weight;
        elements *= axes[k][numbers[k]].elements;
      }
      if (elements > 0) needs.push_back({from_.grid().rank_at(source_place), elements});
    });
    return needs;
  }

  const Distribution& to_;
  const Distribution& from_;
  std::vector<AxisPair> pairs_;
  std::vector<std::vector<Need>> places_;
};

/// The cost of assigning a rank to a place.
class Costs {
 public:
  Costs(const Needs& needs, const Systems& systems, double crossing_weight)
      : needs_(needs), systems_(systems), crossing_weight_(crossing_weight) {}

  [[nodiscard]] double of(int rank, int place) const {
    double cost = 0;
    for (const auto& [piece, elements] : needs_.of(place)) {
      const int sender = nearest_copy(needs_.source(), piece, rank, systems_);
      if (sender == rank) continue;
      cost +=
          static_cast<double>(elements) * (systems_.crosses(sender, rank) ? crossing_weight_ : 1.0);
    }
    return cost;
  }

  [[nodiscard]] double of_all(const std::vector<int>& members) const {
    double cost = 0;
    for (int place = 0; place < needs_.count(); ++place)
      cost += of(members[static_cast<std::size_t>(place)], place);
    return cost;
  }

  [[nodiscard]] Index moved(const std::vector<int>& members) const {
    Index moved = 0;
    for (int place = 0; place < needs_.count(); ++place) {
      const int rank = members[static_cast<std::size_t>(place)];
      for (const auto& [piece, elements] : needs_.of(place)) {
        if (nearest_copy(needs_.source(), piece, rank, systems_) != rank) moved += elements;
      }
    }
    return moved;
  }

 private:
  const Needs& needs_;
  const Systems& systems_;
  double crossing_weight_;
};

std::vector<int> best_members(const std::vector<int>& members, const Costs& costs) {
  const int size = static_cast<int>(members.size());
  std::vector<double> matrix;
  for (const int rank : members) {
    for (int place = 0; place < size; ++place) matrix.push_back(costs.of(rank, place));
  }
  const std::vector<int> place_of = cheapest_assignment(matrix, size);
  std::vector<int> result(members.size());
  for (std::size_t k = 0; k < members.size(); ++k)
    result[static_cast<std::size_t>(place_of[k])] = members[k];
  return result;
}

/// Assigns places to the ranks that already have most of the elements they need, the largest
/// savings first.
std::vector<int> good_members(const std::vector<int>& members, const Needs& needs) {
  struct Saving {
    Index elements;
    int rank;
    int place;
  };
  std::vector<int> sorted = members;
  std::ranges::sort(sorted);
  std::vector<Saving> savings;
  for (int place = 0; place < needs.count(); ++place) {
    for (const auto& [piece, elements] : needs.of(place)) {
      for (const int rank : needs.source().copies(piece)) {
        if (std::ranges::binary_search(sorted, rank)) savings.push_back({elements, rank, place});
      }
    }
  }
  std::ranges::sort(savings, [](const Saving& a, const Saving& b) {
    return std::tuple(-a.elements, a.place, a.rank) < std::tuple(-b.elements, b.place, b.rank);
  });
  constexpr int kNobody = -1;
  std::vector<int> result(members.size(), kNobody);
  std::vector<bool> used(sorted.size(), false);
  const auto index = [&](int rank) {
    return static_cast<std::size_t>(std::ranges::lower_bound(sorted, rank) - sorted.begin());
  };
  const auto assign = [&](int rank, std::size_t place) {
    if (result[place] != kNobody || used[index(rank)]) return;
    result[place] = rank;
    used[index(rank)] = true;
  };
  for (const auto& [elements, rank, place] : savings) assign(rank, static_cast<std::size_t>(place));
  for (std::size_t place = 0; place < members.size(); ++place) assign(members[place], place);
  std::size_t next = 0;
  for (int& rank : result) {
    if (rank != kNobody) continue;
    while (used[next]) ++next;
    used[next] = true;
    rank = sorted[next];
  }
  return result;
}

}  // namespace

Relabelling relabel(const Systems& systems, const RemapSide& destination, const RemapSide& source,
                    const RelabelOptions& options) {
  const Needs needs(destination, source, options.permutation);
  const Costs costs(needs, systems, options.crossing_weight);
  const std::vector<int> before = destination.layout.grid().members();
  Relabelling result;
  result.members = needs.count() <= options.exact_up_to ? best_members(before, costs)
                                                        : good_members(before, needs);
  if (costs.of_all(result.members) >= costs.of_all(before)) result.members = before;
  for (int place = 0; place < needs.count(); ++place) {
    for (const Need& need : needs.of(place)) result.elements += need.elements;
  }
  result.moved_before = costs.moved(before);
  result.moved_after = costs.moved(result.members);
  result.layout = Distribution::make(
      ProcessGrid(destination.layout.grid().extents(), result.members), destination.layout.axes());
  return result;
}

}  // namespace impishim::darray
