// SPDX-License-Identifier: Apache-2.0
// Patches and selections made by chance, for tests.
#pragma once

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "darray/local/selection.hpp"

namespace impishim::darray {

using Random = std::mt19937;

inline Index between(Random& random, Index low, Index high) {
  return std::uniform_int_distribution<Index>(low, high)(random);
}

/// A section of a buffer of up to four axes, its axes in any order, steps of both signs: names no
/// element twice. Offsets lie from 0 to 5 * 5 * 5 * 5 - 1.
inline Patch random_patch(Random& random) {
  std::vector<Index> extents(static_cast<std::size_t>(between(random, 0, 4)));
  Section section;
  for (Index& extent : extents) {
    extent = between(random, 1, 5);
    Index step = between(random, 1, 2);
    const Index count =
        between(random, 0, 9) == 0 ? 0 : between(random, 1, (extent - 1) / step + 1);
    Index start = between(random, 0, std::max<Index>(0, extent - 1 - (count - 1) * step));
    if (count > 0 && between(random, 0, 2) == 0) {
      start += (count - 1) * step;
      step = -step;
    }
    section.push_back({start, count, step});
  }
  Patch patch = section_patch(extents, section);
  std::shuffle(patch.dimensions.begin(), patch.dimensions.end(), random);
  return patch;
}

/// Different offsets below `extent`, in any order, `count` of them.
inline std::vector<Index> random_words(Random& random, Index extent, Index count) {
  std::vector<Index> all(static_cast<std::size_t>(extent));
  std::iota(all.begin(), all.end(), Index{0});
  std::shuffle(all.begin(), all.end(), random);
  all.resize(static_cast<std::size_t>(count));
  return all;
}

}  // namespace impishim::darray
