// SPDX-License-Identifier: Apache-2.0
/// Remaps drawn at random, and what they should do.
#pragma once

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <vector>

#include "darray/plan/remap/remap.hpp"
#include "tests/unit/darray/plan/simulation.hpp"
#include "tests/unit/darray/random_layout.hpp"

namespace impishim_test {

using impishim::darray::DistributionPtr;
using impishim::darray::kRepeated;
using impishim::darray::RemapOptions;
using impishim::darray::RemapSide;
using impishim::darray::Section;
using impishim::darray::Triplet;

/// first, first + 1, ...: `count` of them.
inline std::vector<int> counting(int count, int first = 0) {
  std::vector<int> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

/// Two arrays, sections of them, and which axes meet, drawn at random.
struct RandomRemap {
  using Value = std::function<Index(const std::vector<Index>&)>;

  int ranks;
  Systems systems;
  DistributionPtr to;
  DistributionPtr from;
  Section to_section;
  Section from_section;
  RemapOptions options;

  RandomRemap(Chance& chance, int ranks) : ranks(ranks) {
    std::vector<int> sizes{chance.small(1, ranks)};
    if (sizes[0] < ranks) sizes.push_back(ranks - sizes[0]);
    systems = systems_of(sizes);
    const int axes = chance.small(0, 3);
    std::vector<int> permutation = counting(axes);
    chance.shuffle(permutation);
    if (chance.once_in(2)) permutation = counting(axes);
    std::vector<Index> to_shape;
    std::vector<Index> from_shape(static_cast<std::size_t>(axes));
    from_section.resize(static_cast<std::size_t>(axes));
    for (const int partner : permutation) {
      const Index count = chance.number(0, 6);
      to_shape.push_back(count + chance.number(0, 4));
      from_shape[static_cast<std::size_t>(partner)] = count + chance.number(0, 4);
      to_section.push_back(random_section(chance, to_shape.back(), count));
      from_section[static_cast<std::size_t>(partner)] =
          random_section(chance, from_shape[static_cast<std::size_t>(partner)], count);
    }
    if (chance.once_in(8) && axes > 0) repeat_last(chance, permutation, from_shape);
    options.permutation = permutation;
    to = random_layout(chance, to_shape, ranks, {}, chance.once_in(3));
    from = random_layout(chance, from_shape, ranks, {}, chance.once_in(3));
  }

  [[nodiscard]] RemapSide destination() const { return {*to, to_section}; }
  [[nodiscard]] RemapSide source() const { return {*from, from_section}; }
  [[nodiscard]] bool repeats() const {
    return std::ranges::find(options.permutation, kRepeated) != options.permutation.end();
  }

  /// The source element for a destination element, if there is one.
  [[nodiscard]] std::optional<std::vector<Index>> source_of(
      const std::vector<Index>& global) const {
    std::vector<Index> source;
    for (const Triplet& triplet : from_section) source.push_back(triplet.start);
    for (std::size_t axis = 0; axis < global.size(); ++axis) {
      const auto position = to_section[axis].position_of(global[axis]);
      if (!position) return std::nullopt;
      const int partner = options.permutation[axis];
      if (partner != kRepeated)
        source[static_cast<std::size_t>(partner)] =
            from_section[static_cast<std::size_t>(partner)].at(*position);
    }
    return source;
  }

  /// What the source holds, what the destination then holds or `kept`, and what a way back brings
  /// to a source full of `kept`.
  [[nodiscard]] Value source_value() const {
    return [this](const std::vector<Index>& global) { return 1000 + flat(global, from->shape()); };
  }
  [[nodiscard]] Value destination_value(Index kept) const {
    return [this, kept](const std::vector<Index>& global) {
      const auto source = source_of(global);
      return source ? source_value()(*source) : kept;
    };
  }
  [[nodiscard]] Value restored_value(Index kept) const {
    return [this, kept](const std::vector<Index>& global) {
      for (std::size_t axis = 0; axis < global.size(); ++axis) {
        if (!from_section[axis].position_of(global[axis])) return kept;
      }
      return source_value()(global);
    };
  }
  [[nodiscard]] std::vector<int> inverse() const {
    std::vector<int> result(options.permutation.size());
    for (std::size_t axis = 0; axis < result.size(); ++axis) {
      result[static_cast<std::size_t>(options.permutation[axis])] = static_cast<int>(axis);
    }
    return result;
  }

 private:
  // The last destination axis repeats one element of the source axis that it had.
  void repeat_last(Chance& chance, std::vector<int>& permutation, std::vector<Index>& from_shape) {
    const auto partner = static_cast<std::size_t>(permutation.back());
    from_shape[partner] = std::max<Index>(1, from_shape[partner]);
    from_section[partner] = {chance.number(0, from_shape[partner] - 1), 1, 1};
    permutation.back() = kRepeated;
  }
};

}  // namespace impishim_test
