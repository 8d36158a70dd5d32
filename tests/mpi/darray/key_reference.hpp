// SPDX-License-Identifier: Apache-2.0
// Keys on a serial array, element by element, as an oracle for distributed ones; and layouts of all
// kinds.
#pragma once

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

#include "darray/array/core/dist_array.hpp"
#include "darray/array/keys/key.hpp"
#include "darray/index/make_distribution.hpp"

namespace reference {

namespace da = impishim::darray;
using da::Index;
using Shape = std::vector<Index>;
using List = std::vector<Index>;

/// Every element is its place in row-major order, or what assignments have made of it.
struct Array {
  Shape shape;
  std::vector<double> values;

  explicit Array(Shape extents)
      : shape(std::move(extents)), values(static_cast<std::size_t>(da::element_count(shape))) {
    std::iota(values.begin(), values.end(), 0.0);
  }
};

/// start:stop:step by a walk along the axis.
inline List walk(const da::Slice& slice, Index extent) {
  const Index step = slice.step.value_or(1);
  const auto bound = [&](std::optional<Index> given, Index otherwise) {
    if (!given) return otherwise;
    return *given < 0 ? std::max<Index>(*given + extent, -1) : *given;
  };
  List indices;
  if (step > 0) {
    const Index stop = std::min(
        slice.stop && *slice.stop < -extent ? Index{0} : bound(slice.stop, extent), extent);
    for (Index index = std::max<Index>(bound(slice.start, 0), 0); index < stop; index += step)
      indices.push_back(index);
  } else {
    const Index stop = bound(slice.stop, -1);
    for (Index index = std::min(bound(slice.start, extent - 1), extent - 1);
         index > stop && index >= 0; index += step)
      indices.push_back(index);
  }
  return indices;
}

/// A key in a form that is easy to follow, and as the library takes it.
struct Part {
  enum Kind { kOne, kRange, kList } kind;
  List indices;
};

/// What a key selects: a shape, and the place of each element.
struct Selected {
  Shape shape;
  List places;
};

/// One part for each axis; all lists have the same length.
inline Selected select(const Shape& shape, const std::vector<Part>& parts) {
  const bool lists =
      std::ranges::any_of(parts, [](const Part& part) { return part.kind == Part::kList; });
  const auto together = [&](const Part& part) {
    return part.kind == Part::kList || (lists && part.kind == Part::kOne);
  };
  // NumPy: the dimension of the lists stands where they stand if nothing is between them, else it
  // is the first one.
  std::size_t changes = 0;
  for (std::size_t axis = 0; axis < parts.size(); ++axis) {
    if (together(parts[axis]) && (axis == 0 || !together(parts[axis - 1]))) ++changes;
  }
  Selected selected;
  std::vector<int> dimension(parts.size(), -1);
  int list_dimension = -1;
  const auto place_lists = [&](std::size_t axis) {
    if (list_dimension < 0) {
      list_dimension = static_cast<int>(selected.shape.size());
      Index length = 0;
      for (const Part& part : parts) {
        if (part.kind == Part::kList) length = static_cast<Index>(part.indices.size());
      }
      selected.shape.push_back(length);
    }
    dimension[axis] = list_dimension;
  };
  if (changes > 1) place_lists(0);
  for (std::size_t axis = 0; axis < parts.size(); ++axis) {
    if (together(parts[axis])) {
      place_lists(axis);
    } else if (parts[axis].kind == Part::kRange) {
      dimension[axis] = static_cast<int>(selected.shape.size());
      selected.shape.push_back(static_cast<Index>(parts[axis].indices.size()));
    }
  }
  const Index count = da::element_count(selected.shape);
  for (Index element = 0; element < count; ++element) {
    List position(selected.shape.size());
    Index rest = element;
    for (std::size_t d = position.size(); d-- > 0; rest /= selected.shape[d])
      position[d] = rest % selected.shape[d];
    Index place = 0;
    for (std::size_t axis = 0; axis < parts.size(); ++axis) {
      const bool one = parts[axis].kind == Part::kOne;
      const Index k = one ? 0 : position[static_cast<std::size_t>(dimension[axis])];
      place = place * shape[axis] + parts[axis].indices[static_cast<std::size_t>(k)];
    }
    selected.places.push_back(place);
  }
  return selected;
}

/// A random key of both forms.
struct RandomKey {
  std::vector<Part> parts;
  da::Key key;
};

template <class Random>
RandomKey random_key(const Shape& shape, Random& random, bool with_lists) {
  const auto any = [&](Index low, Index high) {
    return std::uniform_int_distribution<Index>(low, high)(random);
  };
  RandomKey made;
  std::vector<da::KeyPart> parts;
  const Index length = any(1, 7);
  const bool ellipsis = any(0, 3) == 0;
  const auto gap = static_cast<std::size_t>(any(0, static_cast<Index>(shape.size())));
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const Index extent = shape[axis];
    const Index kind = extent == 0 ? 1 : any(0, with_lists ? 4 : 2);
    if (ellipsis && axis >= gap) {
      if (axis == gap) parts.emplace_back(da::kEllipsis);
      // It stands for all that follow, but perhaps for the last.
      if (axis + 1 < shape.size() || kind != 0 || with_lists) {
        made.parts.push_back({Part::kRange, walk({}, extent)});
        continue;
      }
    }
    if (kind == 0) {
      const Index index = any(-extent, extent - 1);
      made.parts.push_back({Part::kOne, {index < 0 ? index + extent : index}});
      parts.emplace_back(index);
    } else if (kind < 3) {
      da::Slice slice;
      if (any(0, 2) != 0) slice.start = any(-extent - 3, extent + 3);
      if (any(0, 2) != 0) slice.stop = any(-extent - 3, extent + 3);
      if (any(0, 2) != 0) slice.step = any(0, 1) == 0 ? any(1, 4) : any(-4, -1);
      made.parts.push_back({Part::kRange, walk(slice, extent)});
      parts.emplace_back(slice);
    } else {
      List list;
      for (Index k = 0; k < length; ++k) list.push_back(any(-extent, extent - 1));
      parts.emplace_back(list);
      for (Index& index : list) index += index < 0 ? extent : 0;
      made.parts.push_back({Part::kList, list});
    }
  }
  made.key = da::Key(parts);
  return made;
}

/// Layouts of all kinds for a shape with at least one axis.
template <class Random>
std::vector<da::LayoutPtr> layouts(MPI_Comm comm, const Shape& shape, Random& random) {
  const da::ContextPtr context = da::Context::of(comm);
  const int processes = context->communicator().size();
  const auto make = [&](const da::Strategy& strategy) {
    return da::Layout::make(context, shape, strategy, da::Checks::kOff);
  };
  std::vector<da::LayoutPtr> all{make(da::kNot), make(da::kEqual), make(da::kFftw)};
  std::vector<Index> bounds{0, shape[0]};
  while (static_cast<int>(bounds.size()) <= processes)
    bounds.push_back(std::uniform_int_distribution<Index>(0, shape[0])(random));
  std::ranges::sort(bounds);
  all.push_back(da::Layout::make_slices(context, bounds, shape));
  all.push_back(
      make(da::make_distribution(shape, processes, {.kinds = "c", .block_sizes = {{0, 2}}})));
  const std::string blocks(shape.size(), 'b');
  all.push_back(
      make(da::make_distribution(shape, processes, {.kinds = blocks, .ghosts = {{0, {1, 2}}}})));
  all.push_back(make(da::make_distribution(shape, processes,
                                           {.kinds = "n" + std::string(shape.size() - 1, 'c')})));
  // Labels dealt out at random, to processes in the opposite order.
  std::vector<std::vector<Index>> labels(static_cast<std::size_t>(processes));
  List order = walk({}, shape[0]);
  std::ranges::shuffle(order, random);
  for (const Index label : order)
    labels[std::uniform_int_distribution<std::size_t>(0, labels.size() - 1)(random)].push_back(
        label);
  std::vector<da::DimMap> maps{da::DimMap::unstructured(labels, true)};
  for (std::size_t axis = 1; axis < shape.size(); ++axis)
    maps.push_back(da::DimMap::collapsed(shape[axis]));
  std::vector<int> members(static_cast<std::size_t>(processes));
  std::iota(members.rbegin(), members.rend(), 0);
  all.push_back(make(da::make_distribution(maps, members)));
  return all;
}

/// The serial array in that layout.
template <class T = double>
da::DistArray<T> distributed(const da::LayoutPtr& layout, const Array& array) {
  da::DistArray<T> result(layout);
  std::fill_n(result.data(), layout->buffer_size(), T(0));
  da::fill_by_index(*layout, result.data(), [&](std::span<const Index> indices) {
    Index place = 0;
    for (std::size_t axis = 0; axis < indices.size(); ++axis)
      place = place * array.shape[axis] + indices[axis];
    return array.values[static_cast<std::size_t>(place)];
  });
  return result;
}

/// This process's elements are those of a serial array of that shape.
template <class T>
bool equals(const da::DistArray<T>& array, const Shape& shape, const std::vector<double>& values) {
  if (array.shape() != shape) return false;
  const std::vector<std::vector<Index>> indices = array.layout()->global_indices();
  List place(shape.size(), 0);
  bool equal = true;
  if (array.local_size() == 0) return true;
  array.local().for_each([&](const T& value) {
    Index flat = 0;
    for (std::size_t axis = 0; axis < place.size(); ++axis)
      flat = flat * shape[axis] + indices[axis][static_cast<std::size_t>(place[axis])];
    equal = equal && static_cast<double>(value) == values[static_cast<std::size_t>(flat)];
    for (std::size_t axis = place.size(); axis-- > 0;) {
      if (++place[axis] < static_cast<Index>(indices[axis].size())) break;
      place[axis] = 0;
    }
  });
  return equal;
}

inline std::vector<double> taken(const Array& array, const Selected& selected) {
  std::vector<double> values;
  for (const Index place : selected.places)
    values.push_back(array.values[static_cast<std::size_t>(place)]);
  return values;
}

}  // namespace reference
