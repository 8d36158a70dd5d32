// SPDX-License-Identifier: Apache-2.0
#include "darray/index/triplet.hpp"

#include <algorithm>
#include <limits>

#include "darray/base/error.hpp"

namespace impishim::darray {

namespace {

/// Limits a slice's bound to the values that a step in that direction can reach (Python's
/// PySlice_AdjustIndices).
Index cut(Index bound, Index extent, bool forwards) {
  if (bound < 0) {
    bound = bound < -extent ? -1 : bound + extent;
    if (bound < 0) return forwards ? 0 : -1;
  }
  if (bound >= extent) return forwards ? extent : extent - 1;
  return bound;
}

}  // namespace

Triplet Slice::resolve(Index extent) const {
  if (extent < 0)
    fail(ErrorKind::kArgument, "slice of an axis of extent {}: an extent is at least 0", extent);
  // The most negative number has no opposite; no axis is long enough to notice the difference.
  const Index by = std::max(step.value_or(1), -std::numeric_limits<Index>::max());
  if (by == 0) fail(ErrorKind::kKey, "slice with step 0: a step is positive or negative");
  const bool forwards = by > 0;
  const Index first = start ? cut(*start, extent, forwards) : (forwards ? 0 : extent - 1);
  const Index end = stop ? cut(*stop, extent, forwards) : (forwards ? extent : -1);
  Index count = 0;
  if (forwards && first < end) count = (end - first - 1) / by + 1;
  if (!forwards && end < first) count = (first - end - 1) / -by + 1;
  // An empty slice starts inside the axis or at its end, whatever the user wrote.
  if (count == 0) return {std::clamp<Index>(first, 0, extent), 0, by};
  return {first, count, by};
}

Section whole_section(std::span<const Index> shape) {
  Section section;
  section.reserve(shape.size());
  for (const Index extent : shape) section.push_back({0, extent, 1});
  return section;
}

Index section_size(const Section& section) {
  Index size = 1;
  for (const Triplet& triplet : section) size *= triplet.count;
  return size;
}

Index wrap_index(Index index, Index extent, int axis) {
  const Index wrapped = index < 0 ? index + extent : index;
  if (extent == 0)
    fail(ErrorKind::kKey, "axis {}: index {} is outside of the extent 0: the axis is empty", axis,
         index);
  if (wrapped < 0 || wrapped >= extent) {
    fail(ErrorKind::kKey, "axis {}: index {} is outside of the extent {}: allowed are {} to {}",
         axis, index, extent, -extent, extent - 1);
  }
  return wrapped;
}

void check_label_triplet(const Triplet& triplet, int axis) {
  if (triplet.step == 0) fail(ErrorKind::kArgument, "axis {}: a triplet has step 0", axis);
  // The number has no opposite, which counting from the other end would need.
  if (triplet.step == std::numeric_limits<Index>::min())
    fail(ErrorKind::kArgument, "axis {}: a triplet has step -2^63", axis);
  if (triplet.count < 0)
    fail(ErrorKind::kArgument, "axis {}: a triplet has the negative count {}", axis, triplet.count);
  Index last = 0;
  if (triplet.count > 0 && (__builtin_mul_overflow(triplet.count - 1, triplet.step, &last) ||
                            __builtin_add_overflow(triplet.start, last, &last))) {
    fail(ErrorKind::kKey, "axis {}: the triplet start {} count {} step {} leaves 64 bits", axis,
         triplet.start, triplet.count, triplet.step);
  }
}

void check_triplet(const Triplet& triplet, Index extent, int axis) {
  check_label_triplet(triplet, axis);
  if (triplet.count == 0) return;
  const auto inside = [&](Index number) { return number >= 0 && number < extent; };
  if (!inside(triplet.start) || !inside(triplet.last())) {
    fail(ErrorKind::kKey, "axis {}: the triplet start {} count {} step {} leaves the extent {}",
         axis, triplet.start, triplet.count, triplet.step, extent);
  }
}

Index element_count(std::span<const Index> shape) {
  Index count = 1;
  bool empty = false;
  bool overflow = false;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const Index extent = shape[axis];
    if (extent < 0) fail(ErrorKind::kShape, "axis {}: the extent {} is negative", axis, extent);
    if (extent == 0) empty = true;
    if (extent > 0 && __builtin_mul_overflow(count, extent, &count)) overflow = true;
    if (count > kMaximumExtent) overflow = true;
  }
  if (empty) return 0;
  if (overflow) fail(ErrorKind::kShape, "the array has more than 2^62 elements");
  return count;
}

}  // namespace impishim::darray
