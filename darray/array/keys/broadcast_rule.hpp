// SPDX-License-Identifier: Apache-2.0
/// The rules by which values of one shape fill elements of another in an assignment.
#pragma once

#include "darray/array/keys/key_part.hpp"

namespace impishim::darray {

/// The assignment of values to elements. Values are repeated along leading axes that they lack, and
/// along axes where their extent is 1 (D2O-38 asks only for axis 0). Additional leading axes of
/// extent 1 are ignored. Values of one axis that are as many as the elements are used in row-major
/// order.
class BroadcastRule {
 public:
  /// Marks a value axis along which all elements use the same value.
  static constexpr int kRepeats = -1;

  /// Throws Error(kShape), with both shapes, if the values do not fit.
  BroadcastRule(std::span<const Index> values, std::span<const Index> elements);

  /// Returns true if every element uses its own value, axis by axis.
  [[nodiscard]] bool is_plain() const;
  /// Returns true if values are used in row-major order, independent of the axes.
  [[nodiscard]] bool is_flat() const { return flat_; }
  /// Returns, for each value axis, the elements' axis that it runs along, or kRepeats.
  [[nodiscard]] const std::vector<int>& axes() const { return axes_; }
  /// Returns, for each of the elements' axes, the value axis that runs along it, or kRepeats.
  [[nodiscard]] std::vector<int> value_axes() const;
  /// Returns the positions of the values that the elements at these positions use, each once.
  [[nodiscard]] Positions of_values(const Positions& elements) const;
  /// Returns the step between values for each of the elements' axes, among the values of
  /// of_values(). Only for values that are not flat.
  [[nodiscard]] std::vector<Index> steps(const Positions& elements) const;

 private:
  std::vector<Index> elements_;
  std::vector<int> axes_;
  bool flat_ = false;
};

/// Calls visit(number of the element, number of its value) for all elements at these positions, in
/// order.
template <class Visit>
void for_each_spread(const BroadcastRule& spread, const Positions& elements, Visit visit) {
  Index number = 0;
  if (spread.is_flat()) {
    for (const Index count = count_of(elements); number < count; ++number) visit(number, number);
    return;
  }
  const std::vector<Index> steps = spread.steps(elements);
  const auto walk = [&](const auto& self, std::size_t axis, Index value) -> void {
    if (axis == elements.size()) {
      visit(number++, value);
      return;
    }
    for (std::size_t k = 0; k < elements[axis].size(); ++k)
      self(self, axis + 1, value + static_cast<Index>(k) * steps[axis]);
  };
  walk(walk, 0, 0);
}

}  // namespace impishim::darray
