// SPDX-License-Identifier: Apache-2.0
#include "darray/array/core/layout.hpp"

#include <algorithm>
#include <numeric>

#include "darray/base/hash.hpp"
#include "darray/communicator/agree.hpp"

namespace impishim::darray {
namespace {

std::uint64_t hash_of(std::span<const Index> shape) {
  Hasher hasher;
  for (const Index extent : shape) hasher.add(extent);
  hasher.add(static_cast<Index>(shape.size()));
  return hasher.value();
}

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  Hasher hasher;
  hasher.add(a);
  hasher.add(b);
  return hasher.value();
}

CollectiveCall call_of(const char* which, std::span<const Index> shape, const Strategy& strategy,
                       Scalar scalar) {
  CollectiveCall call("making an array");
  call.with(which, shape).with("strategy", strategy.name()).with("element type", name_of(scalar));
  return call.with_hash("distribution", strategy.hash());
}

// Returns true if the elements are in the order of their indices. All maps have one part each.
bool in_index_order(const Distribution& distribution) {
  return std::ranges::all_of(distribution.axes(), [](const Axis& axis) {
    if (axis.map.kind() != DimMap::Kind::kUnstructured) return true;
    const auto labels = axis.map.labels().labels(0);
    for (std::size_t k = 0; k < labels.size(); ++k) {
      if (labels[k] != static_cast<Index>(k)) return false;
    }
    return true;
  });
}

}  // namespace

LayoutPtr Layout::make(const ContextPtr& context, std::span<const Index> shape,
                       const Strategy& strategy, Checks checks, Scalar scalar) {
  LayoutPtr layout;
  agreed(
      context->communicator(), checks,
      [&] { return call_of("global shape", shape, strategy, scalar); },
      [&] {
        layout = context->layout(
            mix(hash_of(shape), strategy.hash()),
            [&](const Layout& other) {
              return other.strategy_ == strategy && std::ranges::equal(other.shape(), shape);
            },
            [&] {
              return std::make_shared<const Layout>(
                  context, strategy,
                  distribution_of(strategy, shape, context->communicator().size()));
            });
      });
  return layout;
}

LayoutPtr Layout::make_slices(const ContextPtr& context, std::vector<Index> bounds,
                              std::span<const Index> shape) {
  if (shape.empty()) fail(ErrorKind::kShape, "slices of axis 0 of an array without axes");
  const int processes = context->communicator().size();
  if (bounds.size() != static_cast<std::size_t>(processes) + 1 || bounds.back() != shape[0]) {
    fail(ErrorKind::kShape, "{} bounds of slices for {} processes and an extent of {}",
         bounds.size(), processes, shape[0]);
  }
  return context->layout(
      mix(mix(hash_of(shape), hash_of(bounds)), static_cast<std::uint64_t>(kFreeform)),
      [&](const Layout& other) {
        return other.strategy_.kind() == kFreeform && std::ranges::equal(other.shape(), shape) &&
               other.slice_bounds() == bounds;
      },
      [&] {
        std::vector<Axis> axes{{DimMap::bounded(bounds), 0}};
        for (const Index extent : shape.subspan(1)) axes.push_back({DimMap::collapsed(extent)});
        static_cast<void>(element_count(shape));
        return std::make_shared<const Layout>(
            context, kFreeform, Distribution::make(ProcessGrid({processes}), std::move(axes)));
      });
}

LayoutPtr Layout::make_freeform(const ContextPtr& context, std::span<const Index> local_shape,
                                Checks checks, Scalar scalar) {
  const Communicator& communicator = context->communicator();
  const auto call = [&] {
    const std::span<const Index> others =
        local_shape.empty() ? local_shape : local_shape.subspan(1);
    return call_of("local shape without axis 0", others, kFreeform, scalar);
  };
  agreed(communicator, checks, call, [&] {
    if (local_shape.empty())
      fail(ErrorKind::kShape,
           "freeform joins local arrays along axis 0, but a local array has no axes");
    static_cast<void>(element_count(local_shape));
  });
  std::vector<Index> bounds(static_cast<std::size_t>(communicator.size()) + 1, 0);
  check_mpi(MPI_Allgather(local_shape.data(), 1, MPI_INT64_T, bounds.data() + 1, 1, MPI_INT64_T,
                          communicator.get()),
            "MPI_Allgather");
  std::partial_sum(bounds.begin(), bounds.end(), bounds.begin());
  Shape shape(local_shape.begin(), local_shape.end());
  shape[0] = bounds.back();
  return make_slices(context, std::move(bounds), shape);
}

Layout::Layout(ContextPtr context, Strategy strategy, DistributionPtr distribution)
    : context_(std::move(context)),
      strategy_(std::move(strategy)),
      distribution_(std::move(distribution)) {
  rank_ = communicator().rank();
  owned_shape_ = distribution_->owned_shape(rank_);
  owned_size_ = distribution_->owned_size(rank_);
  // An array without axes has one element. A process that does not have it gets one axis of extent
  // 0.
  if (owned_shape_.empty() && owned_size_ == 0) owned_shape_ = {0};
  buffer_shape_ = distribution_->local_shape(rank_);
  if (owned_shape_.size() != buffer_shape_.size()) buffer_shape_ = owned_shape_;
  buffer_size_ = distribution_->local_size(rank_);
  strides_ = StridedView<char>::row_major(buffer_shape_);
  std::vector<Index> first = distribution_->owned_offset(rank_);
  first.resize(strides_.size());
  offset_ = std::inner_product(first.begin(), first.end(), strides_.begin(), Index{0});
  contiguous_ = StridedView<char>(nullptr, owned_shape_, strides_).is_contiguous();
  const ProcessGrid& grid = distribution_->grid();
  everywhere_ = grid.size() == processes() && distribution_->replicas() == processes() &&
                in_index_order(*distribution_);
}

bool Layout::has_labels() const {
  return std::ranges::any_of(distribution_->axes(), [](const Axis& axis) {
    return axis.map.kind() == DimMap::Kind::kUnstructured;
  });
}

std::optional<std::vector<Index>> Layout::slice_bounds() const {
  const ProcessGrid& grid = distribution_->grid();
  const auto count = static_cast<std::size_t>(processes());
  if (distribution_->dimensions() == 0 || distribution_->is_replicated()) return std::nullopt;
  const Axis& axis = distribution_->axis(0);
  if (axis.map.kind() != DimMap::Kind::kBlock && axis.map.kind() != DimMap::Kind::kCollapsed)
    return std::nullopt;
  if (axis.map.parts() != grid.size()) return std::nullopt;
  for (int place = 0; place < grid.size(); ++place) {
    if (grid.rank_at(place) != place) return std::nullopt;
  }
  for (int other = 1; other < distribution_->dimensions(); ++other) {
    const DimMap::Kind kind = distribution_->axis(other).map.kind();
    if (kind == DimMap::Kind::kUnstructured) return std::nullopt;
  }
  std::vector<Index> bounds(count + 1, axis.map.extent());
  for (int place = 0; place < grid.size(); ++place)
    bounds[static_cast<std::size_t>(place)] = axis.map.block_of(place).first;
  return bounds;
}

const std::vector<Index>& Layout::row_offsets() const {
  std::call_once(rows_known_, [this] {
    Shape outer = owned_shape_;
    std::vector<Index> steps = strides_;
    if (!outer.empty()) {
      outer.pop_back();
      steps.pop_back();
    }
    if (owned_size_ == 0) return;
    static char anywhere = 0;
    const StridedView<char> starts(&anywhere, std::move(outer), std::move(steps));
    row_offsets_ = {};
    const Patch patch = starts.patch();
    row_offsets_.reserve(static_cast<std::size_t>(patch.size()));
    for (Index row = 0; row < patch.size(); ++row) row_offsets_.push_back(offset_ + patch.at(row));
  });
  return row_offsets_;
}

std::vector<std::vector<Index>> Layout::global_indices() const {
  std::vector<std::vector<Index>> lists(owned_shape_.size());
  if (!distribution_->is_member(rank_)) return lists;
  for (std::size_t axis = 0; axis < lists.size(); ++axis) {
    const DimMap& map = distribution_->axis(static_cast<int>(axis)).map;
    const int part = distribution_->part(rank_, static_cast<int>(axis));
    lists[axis].resize(static_cast<std::size_t>(owned_shape_[axis]));
    for (Index local = 0; local < owned_shape_[axis]; ++local)
      lists[axis][static_cast<std::size_t>(local)] = map.global(part, local);
  }
  return lists;
}

}  // namespace impishim::darray
