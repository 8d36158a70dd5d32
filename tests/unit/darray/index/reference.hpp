// SPDX-License-Identifier: Apache-2.0
/// What the maps are compared with: the indices dealt out one by one, as lists.
#pragma once

#include <string>
#include <vector>

#include "darray/index/dim_map.hpp"

namespace impishim_test {

using impishim::darray::DimMap;
using impishim::darray::Index;
using impishim::darray::Triplet;

/// The indices of each part, in local order.
using Pieces = std::vector<std::vector<Index>>;

struct Case {
  std::string name;
  DimMap map;
  Pieces pieces;
};

/// A map of each kind, and of block-cyclic ones all block sizes up to `blocks` and all first parts.
std::vector<Case> cases(Index extent, int parts, Index blocks);

/// The parts of a map as it lists them itself.
Pieces pieces_of(const DimMap& map);

/// Sections of an axis: all starts and counts for some steps, or every third of them.
std::vector<Triplet> sections(Index extent, bool few);

}  // namespace impishim_test
