// SPDX-License-Identifier: Apache-2.0
/// Layouts drawn at random, of every kind of map.
#pragma once

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "darray/index/distribution.hpp"

namespace impishim_test {

/// A seeded source of numbers: the same on all ranks, whatever standard library each is made with,
/// whose distributions and shuffles differ.
class Chance {
 public:
  explicit Chance(unsigned seed) : engine_(seed) {}
  /// From `low` to `high`, both included.
  impishim::darray::Index number(impishim::darray::Index low, impishim::darray::Index high) {
    return low + static_cast<impishim::darray::Index>(engine_() %
                                                      static_cast<std::uint64_t>(high - low + 1));
  }
  int small(int low, int high) { return static_cast<int>(number(low, high)); }
  bool once_in(int times) { return number(1, times) == 1; }
  template <class T>
  void shuffle(std::vector<T>& list) {
    for (std::size_t left = list.size(); left > 1; --left)
      std::swap(list[left - 1], list[static_cast<std::size_t>(
                                    number(0, static_cast<impishim::darray::Index>(left) - 1))]);
  }

 private:
  std::mt19937_64 engine_;
};

struct LayoutChoice {
  bool unstructured = true;
  bool ghosts = true;
  bool replicated = true;
  bool blocks_only = false;
};

/// A map of a random kind. Labels of unstructured ones are 0 to extent - 1, some of them several
/// parts' if `shared`.
impishim::darray::DimMap random_map(Chance& chance, impishim::darray::Index extent, int parts,
                                    const LayoutChoice& choice, bool shared);

/// A layout on a random grid of some of the ranks.
impishim::darray::DistributionPtr random_layout(Chance& chance,
                                                const std::vector<impishim::darray::Index>& shape,
                                                int ranks, const LayoutChoice& choice = {},
                                                bool shared = false);

/// Up to so many axes, of up to so many elements each.
std::vector<impishim::darray::Index> random_shape(Chance& chance, int most_axes,
                                                  impishim::darray::Index most);

/// A section of an axis with so many elements, with any step; `count` is at most the extent.
impishim::darray::Triplet random_section(Chance& chance, impishim::darray::Index extent,
                                         impishim::darray::Index count);

}  // namespace impishim_test
