/// How values of one shape fill elements of another, as an assignment has it.
#pragma once

#include "darray/array/keys/key_part.hpp"

namespace impishim::darray {

/// Values are repeated along axes that they lack at the front, and along those where they have an
/// extent of 1 (D2O-38 asks for axis 0 alone); axes of extent 1 that they have too many at the
/// front do not count. Values of one axis that are as many as the elements are taken in row-major
/// order.
class Spread {
 public:
  /// Of a value axis that all elements take the same value of.
  static constexpr int kRepeats = -1;

  /// @throws Error kShape, with both shapes.
  Spread(std::span<const Index> values, std::span<const Index> elements);

  /// Every element takes a value of its own, axis by axis.
  [[nodiscard]] bool is_plain() const;
  /// In row-major order, whatever the axes.
  [[nodiscard]] bool is_flat() const { return flat_; }
  /// The elements' axis that a value axis runs along, or kRepeats.
  [[nodiscard]] const std::vector<int>& axes() const { return axes_; }
  /// For each of the elements' axes, the value axis that runs along it, or kRepeats.
  [[nodiscard]] std::vector<int> value_axes() const;
  /// The positions of the values that elements at these positions take, each once.
  [[nodiscard]] Positions of_values(const Positions& elements) const;
  /// Which of these values each of the elements takes: one step for each of the elements' axes. For
  /// values that are not flat.
  [[nodiscard]] std::vector<Index> steps(const Positions& elements) const;

 private:
  std::vector<Index> elements_;
  std::vector<int> axes_;
  bool flat_ = false;
};

/// Calls visit(number of the element, number of its value) for all elements at these positions, in
/// order.
template <class Visit>
void for_each_spread(const Spread& spread, const Positions& elements, Visit visit) {
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
