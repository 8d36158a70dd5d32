// SPDX-License-Identifier: Apache-2.0
#include "darray/plan/reduce/scan.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "darray/base/address.hpp"
#include "darray/local/strided_view.hpp"
#include "darray/plan/core/options.hpp"
#include "darray/plan/reduce/detail/reduce_group.hpp"
#include "darray/schedule/detail/execution.hpp"
#include "darray/schedule/lookup_schedule.hpp"

namespace impishim::darray {
namespace {

using Bytes = std::vector<std::byte>;

// Consecutive numbers of an axis that a part has at consecutive local indices.
struct Stretch {
  Index number = 0;
  Index local = 0;
  Index count = 0;
};

// Returns the stretches of a part, ascending by number.
std::vector<Stretch> stretches_of(const DimMap& map, int part, const std::vector<Index>& labels) {
  if (const auto block = map.contiguous(part)) {
    if (block->first == block->second) return {};
    return {{block->first, 0, block->second - block->first}};
  }
  std::vector<std::pair<Index, Index>> elements;  // number, local
  for (Index k = 0; k < map.owned(part); ++k) {
    const Index global = map.global(part, k);
    elements.emplace_back(
        labels.empty() ? global
                       : std::lower_bound(labels.begin(), labels.end(), global) - labels.begin(),
        k);
  }
  std::sort(elements.begin(), elements.end());
  std::vector<Stretch> stretches;
  for (const auto& [number, local] : elements) {
    if (!stretches.empty()) {
      Stretch& last = stretches.back();
      if (number == last.number + last.count && local == last.local + last.count) {
        ++last.count;
        continue;
      }
    }
    stretches.push_back({number, local, 1});
  }
  return stretches;
}

// Returns the operator for accumulators instead of elements. It is slow for each element, so it is
// used for totals only.
ReduceOperator on_accumulators(const ReduceOperator& operation) {
  ReduceOperator result = operation;
  result.source = operation.accumulator;
  const auto size = static_cast<Index>(operation.accumulator.size);
  // Pieces of totals are rows that follow each other in memory.
  result.reduce = [combine = operation.combine, unit = operation.identity, size](
                      const ReducePiece& piece, const void* source, const bool*, void* into) {
    const auto* from = static_cast<const std::byte*>(source);
    auto* to = static_cast<std::byte*>(into);
    Index rows = 1;
    for (const ReduceDimension& dimension : piece.kept) rows *= dimension.extent;
    const Index count = piece.reduced.empty() ? 1 : piece.reduced[0].extent;
    const Index row = piece.kept.empty() ? 0 : piece.kept.back().stride;
    for (Index j = 0; j < rows; ++j) {
      std::memcpy(to + j * size, unit.data(), unit.size());
      for (Index k = 0; k < count; ++k) combine(to + j * size, from + (j * row + k) * size, 1);
    }
  };
  result.scan = [combine = operation.combine, size](const ScanPiece& piece, const void* source,
                                                    const void* seeds, bool exclusive, void* into) {
    Index rows = 1;
    for (const ScanDimension& lines : piece.lines) rows *= lines.extent;
    const Index stride = piece.lines.empty() ? 0 : piece.lines.back().stride;
    const Index to_stride = piece.lines.empty() ? 0 : piece.lines.back().into;
    Bytes sum(static_cast<std::size_t>(size));
    for (Index j = 0; j < rows; ++j) {
      std::memcpy(sum.data(), static_cast<const std::byte*>(seeds) + j * size, sum.size());
      for (Index k = 0; k < piece.axis.extent; ++k) {
        std::byte* to = static_cast<std::byte*>(into) + (j * to_stride + k) * size;
        if (exclusive) std::memcpy(to, sum.data(), sum.size());
        combine(sum.data(), static_cast<const std::byte*>(source) + (j * stride + k) * size, 1);
        if (!exclusive) std::memcpy(to, sum.data(), sum.size());
      }
    }
  };
  return result;
}

Bytes repeated(const Bytes& value, Index count) {
  Bytes result;
  result.reserve(value.size() * static_cast<std::size_t>(count));
  for (Index k = 0; k < count; ++k) result.insert(result.end(), value.begin(), value.end());
  return result;
}

// A scan along one axis. The totals of all stretches are sent to all ranks along the axis; then
// each rank scans its own stretches.
class AxisScan {
 public:
  AxisScan(const Communicator& communicator, const Distribution& source, int axis,
           ReduceOperator operation);

  [[nodiscard]] const DistributionPtr& lines() const { return group_.result; }
  [[nodiscard]] Index line_count() const { return group_.results; }

  /// Exchanges the totals of the stretches between the ranks along the axis, unless no rank needs
  /// them.
  void exchange(const void* source, bool for_totals);
  /// Returns one total for each line.
  [[nodiscard]] Bytes totals() const;
  /// Scans the lines. `seeds` holds the values that come before each line.
  void scan(const void* source, Bytes seeds, bool exclusive, void* into) const;

 private:
  struct Place {
    std::size_t member;
    std::size_t stretch;
  };
  [[nodiscard]] std::size_t size() const { return operation_.accumulator.size; }
  [[nodiscard]] const std::byte* total(const Place& place) const {
    return all_.data() +
           (place.member * most_ + place.stretch) * static_cast<std::size_t>(line_count()) * size();
  }
  [[nodiscard]] const void* first(const void* source, const Stretch& stretch) const {
    const Index at = group_.part.offset + stretch.local * axis_stride_;
    return address_at(source, at * static_cast<Index>(operation_.source.size));
  }
  void find_order(const Distribution& source, int axis);

  ReduceGroup group_;
  ReduceOperator operation_;
  std::optional<Communicator> ranks_;  // ranks along the axis, if there are several
  std::size_t me_ = 0;                 // this rank's number among them
  Index axis_stride_ = 1;
  Index axis_into_ = 1;
  std::vector<Stretch> mine_;
  std::vector<Place> order_;  // of all stretches along the axis
  std::size_t most_ = 0;      // highest number of stretches of a rank
  Bytes all_;                 // totals by rank, stretch and line
};

AxisScan::AxisScan(const Communicator& communicator, const Distribution& source, int axis,
                   ReduceOperator operation)
    : group_(source, {axis}, Known::kOnMembers, communicator.rank(), communicator.size()),
      operation_(std::move(operation)) {
  if (group_.members.empty()) return;
  axis_stride_ = group_.part.strides[static_cast<std::size_t>(axis)];
  axis_into_ = StridedView<bool>::row_major(group_.part.extents)[static_cast<std::size_t>(axis)];
  me_ = static_cast<std::size_t>(
      std::lower_bound(group_.members.begin(), group_.members.end(), communicator.rank()) -
      group_.members.begin());
  find_order(source, axis);
  if (group_.members.size() > 1) ranks_ = communicator.group(group_.members);
  all_.resize(group_.members.size() * most_ * static_cast<std::size_t>(line_count()) * size());
}

void AxisScan::find_order(const Distribution& source, int axis) {
  const DimMap& map = source.axis(axis).map;
  const std::vector<Index> labels =
      axis_orders(source, Location::kNowhere)[static_cast<std::size_t>(axis)].labels;
  std::vector<std::pair<Index, Place>> places;
  Index count = 0;
  for (std::size_t member = 0; member < group_.members.size(); ++member) {
    const auto stretches = stretches_of(map, source.part(group_.members[member], axis), labels);
    for (std::size_t k = 0; k < stretches.size(); ++k) {
      places.push_back({stretches[k].number, Place{member, k}});
      count += stretches[k].count;
    }
    most_ = std::max(most_, stretches.size());
    if (member == me_) mine_ = stretches;
  }
  if (!labels.empty() && count != static_cast<Index>(labels.size())) {
    fail(ErrorKind::kUnsupported, "axis {}: a scan of labels that several parts own", axis);
  }
  std::sort(places.begin(), places.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [number, place] : places) order_.push_back(place);
}

void AxisScan::exchange(const void* source, bool for_totals) {
  if (line_count() == 0 || (order_.size() <= 1 && !for_totals)) return;
  const auto block = most_ * static_cast<std::size_t>(line_count()) * size();
  std::byte* const own = all_.data() + me_ * block;
  for (std::size_t k = 0; k < mine_.size(); ++k) {
    const ReducePiece piece{group_.piece.kept, {{mine_[k].count, axis_stride_, 0}}};
    operation_.reduce(piece, first(source, mine_[k]), nullptr, own + k * (block / most_));
  }
  if (!ranks_) return;
  const Bytes sent(own, own + block);
  MPI_Request request = MPI_REQUEST_NULL;
  all_gather_step(true, request, *ranks_, operation_.accumulator, sent.data(), all_.data(),
                  static_cast<Index>(most_) * line_count());
}

Bytes AxisScan::totals() const {
  Bytes sums = repeated(operation_.identity, line_count());
  for (const Place& place : order_) operation_.combine(sums.data(), total(place), line_count());
  return sums;
}

void AxisScan::scan(const void* source, Bytes seeds, bool exclusive, void* into) const {
  if (line_count() == 0) return;
  ScanPiece piece;
  for (const ReduceDimension& line : group_.piece.kept)
    piece.lines.push_back({line.extent, line.stride, line.other});
  std::size_t left = mine_.size();
  for (const Place& place : order_) {
    if (place.member == me_) {
      const Stretch& stretch = mine_[place.stretch];
      piece.axis = {stretch.count, axis_stride_, axis_into_};
      std::byte* const to =
          address_at(into, stretch.local * axis_into_ * static_cast<Index>(size()));
      operation_.scan(piece, first(source, stretch), seeds.data(), exclusive, to);
      if (--left == 0) return;
    }
    operation_.combine(seeds.data(), total(place), line_count());
  }
}

}  // namespace

struct ScanPlan::State {
  ReduceOperator operation;
  bool exclusive;
  DistributionPtr result;
  std::vector<AxisScan> levels;  // the given axis; for a flat scan, the last axis, then the totals
                                 // of its lines along the axis before it, and so on
  std::optional<OwnedPart> single;  // the only element of an array without axes

  State(const Communicator& communicator, const Distribution& source, std::optional<int> axis,
        ReduceOperator operation, ScanRange range);
};

ScanPlan::State::State(const Communicator& communicator, const Distribution& source,
                       std::optional<int> axis, ReduceOperator wanted, ScanRange range)
    : operation(std::move(wanted)), exclusive(range == ScanRange::kExclusive) {
  if (!operation.has_identity()) fail(ErrorKind::kArgument, "a scan needs an operator's identity");
  std::vector<Axis> axes;
  for (const Axis& each : source.axes()) axes.push_back({each.map, each.grid_dimension});
  result = Distribution::make(source.grid(), std::move(axes));
  if (axis) {
    levels.emplace_back(communicator, source, *axis, operation);
    return;
  }
  if (source.dimensions() == 0) {
    single = owned_part(source, communicator.rank());
    return;
  }
  levels.emplace_back(communicator, source, source.dimensions() - 1, operation);
  for (int left = source.dimensions() - 1; left > 0; --left) {
    const DistributionPtr lines = levels.back().lines();
    levels.emplace_back(communicator, *lines, left - 1, on_accumulators(operation));
  }
}

ScanPlan::ScanPlan(MPI_Comm comm, const Distribution& distribution, std::optional<int> axis,
                   ReduceOperator operation, ScanOptions options) {
  const Communicator communicator(comm);
  const Checks checks = options.schedule.checks;
  const auto call = [&] {
    CollectiveCall given("scan");
    given.with("operator", operation.name)
        .with("axis", axis ? fmt::format("{}", *axis) : "all, in row-major order");
    given.with("array", distribution).with("exclusive", options.range == ScanRange::kExclusive);
    add_options(given, options.schedule);
    return given;
  };
  agreed(communicator, checks, call, [&] {
    require_ranks(distribution, communicator);
    if (axis) static_cast<void>(distribution.axis(*axis));
  });
  // An error here occurs on all members of the grid, before any member waits for another.
  agreed(communicator, checks, "scan", [&] {
    state_ = std::make_unique<State>(communicator, distribution, axis, std::move(operation),
                                     options.range);
  });
}

ScanPlan::~ScanPlan() = default;
ScanPlan::ScanPlan(ScanPlan&&) noexcept = default;
ScanPlan& ScanPlan::operator=(ScanPlan&&) noexcept = default;

const DistributionPtr& ScanPlan::result() const { return state_->result; }

void ScanPlan::execute(const void* source, void* destination) {
  State& state = *state_;
  if (state.single) {
    if (state.single->size == 0) return;
    const Bytes& unit = state.operation.identity;
    if (state.exclusive) {
      std::memcpy(destination, unit.data(), unit.size());
    } else {
      state.operation.reduce({}, source, nullptr, destination);
    }
    return;
  }
  std::vector<Bytes> totals;  // of each level except the last
  const void* from = source;
  for (std::size_t level = 0; level < state.levels.size(); ++level) {
    const bool last = level + 1 == state.levels.size();
    state.levels[level].exchange(from, !last);
    if (last) break;
    totals.push_back(state.levels[level].totals());
    from = totals.back().data();
  }
  Bytes seeds = repeated(state.operation.identity, state.levels.back().line_count());
  for (std::size_t level = state.levels.size() - 1; level > 0; --level) {
    Bytes next(totals[level - 1].size());
    state.levels[level].scan(totals[level - 1].data(), std::move(seeds), true, next.data());
    seeds = std::move(next);
  }
  state.levels.front().scan(source, std::move(seeds), state.exclusive, destination);
}

}  // namespace impishim::darray
