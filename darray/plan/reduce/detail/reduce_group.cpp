// SPDX-License-Identifier: Apache-2.0
#include "darray/plan/reduce/detail/reduce_group.hpp"

#include <algorithm>
#include <numeric>

#include "darray/index/make_distribution.hpp"
#include "darray/local/strided_view.hpp"

namespace impishim::darray {
namespace {

// Appends a dimension. If it continues the last one, extends the last one instead.
void append(std::vector<ReduceDimension>& dimensions, const ReduceDimension& next) {
  if (next.extent == 1) return;
  if (!dimensions.empty()) {
    ReduceDimension& last = dimensions.back();
    if (last.stride == next.extent * next.stride && last.other == next.extent * next.other) {
      last = {last.extent * next.extent, next.stride, next.other};
      return;
    }
  }
  dimensions.push_back(next);
}

std::vector<bool> flags_of(const Distribution& source, const std::vector<int>& axes) {
  std::vector<bool> is_reduced(source.axes().size(), false);
  for (const int axis : axes) {
    static_cast<void>(source.axis(axis));
    if (is_reduced[static_cast<std::size_t>(axis)])
      fail(ErrorKind::kArgument, "axis {} is to be reduced twice", axis);
    is_reduced[static_cast<std::size_t>(axis)] = true;
  }
  return is_reduced;
}

bool has_elements(const Distribution& source, const std::vector<int>& axes, int rank) {
  return std::all_of(axes.begin(), axes.end(), [&](int axis) {
    return source.axis(axis).map.owned(source.part(rank, axis)) > 0;
  });
}

// Returns the ranks of the grid that differ from this one only along dimensions that reduced axes
// follow.
std::vector<int> along_axes(const Distribution& source, const std::vector<int>& axes, int rank) {
  const ProcessGrid& grid = source.grid();
  const std::optional<int> mine = grid.place_of(rank);
  std::vector<int> members;
  if (!mine) return members;
  std::vector<bool> runs(static_cast<std::size_t>(grid.dimensions()), false);
  for (const int axis : axes) {
    if (const int d = source.axis(axis).grid_dimension; d != kNotDistributed)
      runs[static_cast<std::size_t>(d)] = true;
  }
  Index base = *mine;
  std::vector<int> places{0};
  for (int d = 0; d < grid.dimensions(); ++d) {
    if (!runs[static_cast<std::size_t>(d)]) continue;
    base -= Index{grid.coordinate(*mine, d)} * grid.stride(d);
    std::vector<int> more;
    for (const int place : places) {
      for (int k = 0; k < grid.extent(d); ++k) more.push_back(place + k * grid.stride(d));
    }
    places = std::move(more);
  }
  for (const int place : places) members.push_back(grid.rank_at(static_cast<int>(base) + place));
  std::sort(members.begin(), members.end());
  return members;
}

}  // namespace

ReducePiece reduce_piece(const OwnedPart& first, const std::vector<Index>& other_strides,
                         const std::vector<bool>& is_reduced) {
  ReducePiece piece;
  for (std::size_t axis = 0; axis < is_reduced.size(); ++axis) {
    append(is_reduced[axis] ? piece.reduced : piece.kept,
           {first.extents[axis], first.strides[axis], other_strides[axis]});
  }
  return piece;
}

ReduceGroup::ReduceGroup(const Distribution& source, std::vector<int> reduced, Known known,
                         int rank, int ranks)
    : axes(std::move(reduced)), part(owned_part(source, rank)), is_reduced(flags_of(source, axes)) {
  piece = reduce_piece(part, StridedView<bool>::row_major(part.extents), is_reduced);
  const bool everywhere = known == Known::kEverywhere;
  if (everywhere && axes.size() != source.axes().size()) {
    fail(ErrorKind::kLayout,
         "only reductions over all axes can be known everywhere: {} of {} axes are reduced",
         axes.size(), source.axes().size());
  }
  // If the result goes to ranks outside of the grid, all ranks form one group.
  const bool together = everywhere && source.grid().size() < ranks;
  if (everywhere) {
    result = make_replicated({}, ranks);
  } else {
    std::vector<Axis> kept;
    for (std::size_t axis = 0; axis < is_reduced.size(); ++axis) {
      if (!is_reduced[axis])
        kept.push_back({source.axes()[axis].map, source.axes()[axis].grid_dimension});
    }
    result = Distribution::make(source.grid(), std::move(kept));
  }
  results = result->owned_size(rank);
  if (together) {
    members.resize(static_cast<std::size_t>(ranks));
    std::iota(members.begin(), members.end(), 0);
    for (const int member : members) {
      if (source.is_primary(member) && has_elements(source, axes, member))
        contributors.push_back(member);
    }
  } else {
    members = along_axes(source, axes, rank);
    for (const int member : members) {
      if (has_elements(source, axes, member)) contributors.push_back(member);
    }
    const auto follows = [&](int axis) {
      const int d = source.axis(axis).grid_dimension;
      return d != kNotDistributed && source.grid().extent(d) > 1;
    };
    alone = std::none_of(axes.begin(), axes.end(), follows);
  }
  contributes = std::find(contributors.begin(), contributors.end(), rank) != contributors.end();
}

}  // namespace impishim::darray
