// SPDX-License-Identifier: Apache-2.0
#include "darray/array/keys/broadcast_rule.hpp"

#include <fmt/ranges.h>

#include <algorithm>

namespace impishim::darray {

BroadcastRule::BroadcastRule(std::span<const Index> values, std::span<const Index> elements)
    : elements_(elements.begin(), elements.end()) {
  const auto surplus = static_cast<int>(values.size()) - static_cast<int>(elements.size());
  bool fits = true;
  for (int axis = 0; axis < static_cast<int>(values.size()); ++axis) {
    const Index extent = values[static_cast<std::size_t>(axis)];
    const int along = axis - surplus;
    const Index wanted = along < 0 ? 1 : elements[static_cast<std::size_t>(along)];
    axes_.push_back(along >= 0 && extent == wanted ? along : kRepeats);
    fits = fits && (extent == wanted || extent == 1);
  }
  if (fits) return;
  flat_ = values.size() == 1 && values[0] == element_count(elements);
  if (!flat_) {
    fail(ErrorKind::kShape, "values of shape ({}) for elements of shape ({})",
         fmt::join(values, ", "), fmt::join(elements, ", "));
  }
}

bool BroadcastRule::is_plain() const {
  return !flat_ && axes_.size() == elements_.size() &&
         std::ranges::find(axes_, kRepeats) == axes_.end();
}

std::vector<int> BroadcastRule::value_axes() const {
  std::vector<int> along(elements_.size(), kRepeats);
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    if (axes_[axis] != kRepeats)
      along[static_cast<std::size_t>(axes_[axis])] = static_cast<int>(axis);
  }
  return along;
}

Positions BroadcastRule::of_values(const Positions& elements) const {
  Positions values;
  if (flat_) {
    values.emplace_back();
    const auto walk = [&](const auto& self, std::size_t axis, Index place) -> void {
      if (axis == elements.size()) {
        values.front().push_back(place);
        return;
      }
      for (const Index position : elements[axis])
        self(self, axis + 1, place * elements_[axis] + position);
    };
    walk(walk, 0, 0);
    return values;
  }
  for (const int along : axes_) {
    values.push_back(along == kRepeats ? IndexList{0} : elements[static_cast<std::size_t>(along)]);
  }
  return values;
}

std::vector<Index> BroadcastRule::steps(const Positions& elements) const {
  std::vector<Index> steps(elements.size(), 0);
  Index step = 1;
  for (std::size_t axis = axes_.size(); axis-- > 0;) {
    if (axes_[axis] == kRepeats) continue;
    const auto along = static_cast<std::size_t>(axes_[axis]);
    steps[along] = step;
    step *= static_cast<Index>(elements[along].size());
  }
  return steps;
}

}  // namespace impishim::darray
