// SPDX-License-Identifier: Apache-2.0
#include "darray/array/keys/set_data.hpp"

#include <algorithm>

#include "darray/plan/remap/remap.hpp"

namespace impishim::darray::detail {

const Shape& shape_of(const SelectedKey& selected) {
  return selected.layout != nullptr ? selected.layout->shape() : selected.key.shape();
}

Target target_of(const Layout& array, const SelectedKey& selected) {
  Target target;
  if (selected.common) {
    OwnPart part = owned_part(array, selected.key, Repeats::kLast);
    target.positions = std::move(part.positions);
    target.offsets = std::move(part.offsets);
    return target;
  }
  target.positions = all_positions(selected.key.shape());
  if (selected.layout != nullptr) {
    const Layout& slices = *selected.layout;
    const Index first = slices.slice_bounds().value()[static_cast<std::size_t>(slices.rank())];
    for (Index& position : target.positions.front()) position += first;
  }
  return target;
}

void store(const Layout& array, void* target, const ResolvedKey& key, const void* values,
           const Element& element) {
  const Copies copies = locate_copies(array, key, all_positions(key.shape()));
  ScheduleOptions options;
  options.checks = Checks::kOff;
  options.ordered = true;
  lookup_schedule(array.communicator(), element, copies.places, copies.numbers, options)
      .execute_backward(target, values);
}

bool assign_section(const Layout& to, void* target, const ResolvedKey& to_key, const Layout& from,
                    const void* source, const ResolvedKey& from_key, const BroadcastRule& spread,
                    const Element& element) {
  if (!to_key.is_section() || !from_key.is_section() || spread.is_flat() || to_key.shape().empty())
    return false;
  if (to.has_labels() || from.has_labels()) return false;
  RemapOptions options;
  options.backward = false;
  options.schedule.checks = Checks::kOff;
  const std::vector<int> value_axes = spread.value_axes();
  const std::vector<int> sources = from_key.sources();
  for (const ResolvedKey::Choice& choice : to_key.axes()) {
    const int dimension = choice.dimension;
    const int value_axis = dimension == ResolvedKey::kNoDimension
                               ? BroadcastRule::kRepeats
                               : value_axes[static_cast<std::size_t>(dimension)];
    options.permutation.push_back(value_axis == BroadcastRule::kRepeats
                                      ? kRepeated
                                      : sources[static_cast<std::size_t>(value_axis)]);
  }
  remap(to.communicator(), {to.distribution(), to_key.section()}, target,
        {from.distribution(), from_key.section()}, source, element, options);
  return true;
}

std::vector<AxisKey> parts_for_local_values(const ContextPtr& context, const Key& key,
                                            const KeyOptions& options) {
  bool together = options.local_keys;
  std::vector<AxisKey> parts;
  for (const KeyPart& part : key.parts()) {
    together = together || part.local() == nullptr;
    if (part.local() != nullptr) parts.push_back(*part.local());
  }
  return together ? parts_of_own_key(context, key, options.checks) : parts;
}

bool same_array_everywhere(const Communicator& communicator, const ArrayId& id) {
  const std::uint64_t mine[2] = {id.number, ~id.number};
  std::uint64_t largest[2];
  check_mpi(MPI_Allreduce(mine, largest, 2, MPI_UINT64_T, MPI_MAX, communicator.get()),
            "MPI_Allreduce");
  return largest[0] == ~largest[1];
}

IndexList local_offsets(const std::vector<Index>& strides, const ResolvedKey& key,
                        const Positions& positions) {
  Index base = 0;
  std::vector<IndexList> steps(positions.size());
  for (std::size_t dimension = 0; dimension < positions.size(); ++dimension)
    steps[dimension].assign(positions[dimension].size(), 0);
  for (std::size_t axis = 0; axis < strides.size(); ++axis) {
    const int dimension = key.axes()[axis].dimension;
    const auto number = static_cast<int>(axis);
    if (dimension == ResolvedKey::kNoDimension) {
      base += key.index_of(number, 0) * strides[axis];
      continue;
    }
    const auto along = static_cast<std::size_t>(dimension);
    for (std::size_t k = 0; k < positions[along].size(); ++k)
      steps[along][k] += key.index_of(number, positions[along][k]) * strides[axis];
  }
  IndexList offsets;
  const auto walk = [&](const auto& self, std::size_t dimension, Index offset) -> void {
    if (dimension == steps.size()) {
      offsets.push_back(offset);
      return;
    }
    for (const Index step : steps[dimension]) self(self, dimension + 1, offset + step);
  };
  walk(walk, 0, base);
  return offsets;
}

}  // namespace impishim::darray::detail
