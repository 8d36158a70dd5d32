// SPDX-License-Identifier: Apache-2.0
/// The pieces of a section that one part of an axis owns. All planners work on them.
#pragma once

#include <vector>

#include "darray/index/triplet.hpp"

namespace impishim::darray {

/// Elements of a section that a part owns, in arithmetic progression. For 0 <= j < count, the
/// section's element at position (position + j * position_step) is the part's owned element (local
/// + j * local_step). position_step is at least 1; a run of one element has both steps 1.
struct IndexRun {
  Index position = 0;
  Index count = 0;
  Index position_step = 1;
  Index local = 0;
  Index local_step = 1;

  bool operator==(const IndexRun&) const = default;
};

/// A run that repeats: for 0 <= i < repeats, the same run moved by i * position_period positions
/// and i * local_period local elements. The moved runs do not overlap each other.
struct RepeatedRun {
  IndexRun run;
  Index repeats = 1;
  Index position_period = 0;
  Index local_period = 0;

  bool operator==(const RepeatedRun&) const = default;
};

}  // namespace impishim::darray
