// SPDX-License-Identifier: Apache-2.0
#include "darray/plan/remap/detail/axis_pairs.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "darray/base/error.hpp"
#include "darray/index/progression.hpp"

namespace impishim::darray {
namespace {

bool is_unstructured(const DimMap& map) { return map.kind() == DimMap::Kind::kUnstructured; }

void check_side(const RemapSide& side, const char* name) {
  const auto dimensions = static_cast<std::size_t>(side.layout.dimensions());
  if (!side.section.empty() && side.section.size() != dimensions) {
    fail(ErrorKind::kArgument, "a section of {} axes for a {} with {}", side.section.size(), name,
         dimensions);
  }
  if (!side.strides.empty() && side.strides.size() != dimensions) {
    fail(ErrorKind::kArgument, "{} strides for a {} with {} axes", side.strides.size(), name,
         dimensions);
  }
}

std::vector<int> complete_permutation(const std::vector<int>& permutation, int destination_axes,
                                      int source_axes) {
  if (permutation.empty()) {
    if (destination_axes != source_axes) {
      fail(ErrorKind::kShape, "a destination with {} axes for a source with {}: give a permutation",
           destination_axes, source_axes);
    }
    std::vector<int> same(static_cast<std::size_t>(destination_axes));
    std::iota(same.begin(), same.end(), 0);
    return same;
  }
  if (permutation.size() != static_cast<std::size_t>(destination_axes)) {
    fail(ErrorKind::kArgument, "a permutation of {} axes for a destination with {}",
         permutation.size(), destination_axes);
  }
  std::vector<bool> named(static_cast<std::size_t>(source_axes), false);
  for (const int axis : permutation) {
    if (axis == kRepeated) continue;
    if (axis < 0 || axis >= source_axes) {
      fail(ErrorKind::kArgument, "a permutation names source axis {}: there are {}", axis,
           source_axes);
    }
    if (named[static_cast<std::size_t>(axis)])
      fail(ErrorKind::kArgument, "a permutation names source axis {} twice", axis);
    named[static_cast<std::size_t>(axis)] = true;
  }
  return permutation;
}

PairedAxis paired(const RemapSide& side, int axis) {
  const DimMap& map = side.layout.axis(axis).map;
  return {map,
          side.section.empty() ? Triplet{0, map.extent(), 1}
                               : side.section[static_cast<std::size_t>(axis)],
          axis};
}

/// Returns the range from the lowest to the highest label of two unstructured maps, as a section.
Triplet label_section(const DimMap& a, const DimMap& b) {
  std::optional<std::pair<Index, Index>> range = a.labels().label_range();
  if (const auto other = b.labels().label_range()) {
    range = range ? std::pair(std::min(range->first, other->first),
                              std::max(range->second, other->second))
                  : *other;
  }
  if (!range) return {0, 0, 1};
  Index count = 0;
  if (__builtin_sub_overflow(range->second, range->first, &count) || count >= kMaximumExtent) {
    fail(ErrorKind::kUnsupported, "labels from {} to {}: a remap counts them in 62 bits",
         range->first, range->second);
  }
  return {range->first, count + 1, 1};
}

/// Returns the default section of an unstructured axis: the labels that the other side's section
/// names.
Triplet labels_for(const PairedAxis& other) {
  return is_unstructured(other.map) ? other.section : Triplet{0, other.section.count, 1};
}

void set_whole_labels(PairedAxis& to, PairedAxis& from, bool to_given, bool from_given) {
  if (!to_given && !from_given && is_unstructured(to.map) && is_unstructured(from.map)) {
    to.section = from.section = label_section(to.map, from.map);
  } else if (!to_given && is_unstructured(to.map)) {
    to.section = labels_for(from);
  } else if (!from_given && is_unstructured(from.map)) {
    from.section = labels_for(to);
  }
}

/// Checks that the other side has every label of `axis` that its section selects. With `all`, the
/// section must also select every label.
void check_labels(const PairedAxis& axis, const PairedAxis& other, bool all, const char* name) {
  if (!is_unstructured(axis.map)) return;
  for (int part = 0; part < axis.map.parts(); ++part) {
    for (const Index label : axis.map.labels().labels(part)) {
      const auto position = axis.section.position_of(label);
      if (!position && !all) continue;
      if (!position || !other.map.contains(other.section.at(*position))) {
        fail(ErrorKind::kKey,
             "axis {}: label {} of part {} of the {} is in no part of the other side", axis.axis,
             label, part, name);
      }
    }
  }
}

/// Checks that every position of a structured destination has a label in the source.
void check_complete(const PairedAxis& to, const PairedAxis& from) {
  if (is_unstructured(to.map) || !is_unstructured(from.map)) return;
  for (Index position = 0; position < to.section.count; ++position) {
    const Index label = from.section.at(position);
    if (from.map.contains(label)) continue;
    fail(ErrorKind::kKey,
         "axis {}: index {} of the destination gets label {}, which no part of the source has: "
         "leave it out by a section",
         to.axis, to.section.at(position), label);
  }
}

void check_pair(const AxisPair& pair, bool to_given, bool from_given, bool complete) {
  const auto& [to, from] = pair;
  if (to.section.count != from.section.count) {
    fail(ErrorKind::kShape, "destination axis {} takes {} elements, source axis {} gives {}",
         to.axis, to.section.count, from.axis, from.section.count);
  }
  for (const PairedAxis* each : {&to, &from}) {
    if (is_unstructured(each->map)) {
      check_label_triplet(each->section, each->axis);
    } else {
      check_triplet(each->section, each->map.extent(), each->axis);
    }
  }
  if (!complete) return;
  check_labels(to, from, !to_given, "destination");
  check_labels(from, to, !to_given && !from_given, "source");
  check_complete(to, from);
}

}  // namespace

bool has_shared_labels(const DimMap& map) {
  return is_unstructured(map) && !map.labels().one_to_one();
}

std::vector<AxisPair> pair_axes(const RemapSide& destination, const RemapSide& source,
                                const std::vector<int>& permutation, bool complete) {
  check_side(destination, "destination");
  check_side(source, "source");
  const int source_axes = source.layout.dimensions();
  const std::vector<int> order =
      complete_permutation(permutation, destination.layout.dimensions(), source_axes);
  const bool to_given = !destination.section.empty();
  const bool from_given = !source.section.empty();
  std::vector<AxisPair> pairs;
  pairs.reserve(order.size());
  std::vector<bool> named(static_cast<std::size_t>(source_axes), false);
  for (int axis = 0; axis < destination.layout.dimensions(); ++axis) {
    const int partner = order[static_cast<std::size_t>(axis)];
    PairedAxis to = paired(destination, axis);
    if (partner == kRepeated) {
      if (is_unstructured(to.map) && !to_given) to.section = label_section(to.map, to.map);
      const Triplet everywhere{0, to.section.count, 1};
      pairs.push_back(
          {std::move(to), {DimMap::collapsed(std::max<Index>(0, everywhere.count)), everywhere}});
    } else {
      named[static_cast<std::size_t>(partner)] = true;
      pairs.push_back({std::move(to), paired(source, partner)});
      if (is_unstructured(pairs.back().to.map) || is_unstructured(pairs.back().from.map)) {
        set_whole_labels(pairs.back().to, pairs.back().from, to_given, from_given);
      }
    }
    check_pair(pairs.back(), to_given, from_given, complete);
  }
  const PairedAxis single{DimMap::collapsed(1), {0, 1, 1}};
  for (int axis = 0; axis < source_axes; ++axis) {
    if (named[static_cast<std::size_t>(axis)]) continue;
    const AxisPair pair{single, paired(source, axis)};
    check_pair(pair, to_given, from_given, complete);
    pairs.push_back(pair);
  }
  return pairs;
}

std::vector<Overlap> common_elements(const AxisPair& pair, int from_part, int to_part,
                                     bool lowest_label_only) {
  std::vector<Overlap> common =
      overlaps(pair.from.map, from_part, pair.from.section, pair.to.map, to_part, pair.to.section);
  if (!lowest_label_only || !has_shared_labels(pair.from.map)) return common;
  std::vector<Match> kept;
  for (const Overlap& each : common) {
    for (Index i = 0; i < each.repeats; ++i) {
      for (Index j = 0; j < each.count; ++j) {
        const Index position = each.position + i * each.position_period + j * each.position_step;
        if (pair.from.map.owner(pair.from.section.at(position)) != from_part) continue;
        kept.push_back({position, each.local_a + i * each.period_a + j * each.step_a,
                        each.local_b + i * each.period_b + j * each.step_b});
      }
    }
  }
  std::ranges::sort(kept, {}, &Match::position);
  return compress(kept);
}

}  // namespace impishim::darray
