// SPDX-License-Identifier: Apache-2.0
#include "darray/index/key.hpp"

#include <algorithm>

#include "darray/base/error.hpp"
#include "darray/base/hash.hpp"

namespace impishim::darray {
namespace {

// Returns the number of axes of the array that one part of a key covers. An ellipsis covers those
// that the others leave.
std::size_t axes_of(const AxisKey& part) {
  if (std::holds_alternative<Ellipsis>(part)) return 0;
  const auto* mask = std::get_if<MaskList>(&part);
  return mask == nullptr ? 1 : mask->shape.size();
}

std::size_t axes_left_over(std::span<const AxisKey> key, std::size_t dimensions) {
  std::size_t named = 0;
  for (const AxisKey& part : key) named += axes_of(part);
  if (named > dimensions)
    fail(ErrorKind::kKey, "a key for {} axes, but the array has {}", named, dimensions);
  const auto is_ellipsis = [](const AxisKey& part) {
    return std::holds_alternative<Ellipsis>(part);
  };
  if (std::ranges::count_if(key, is_ellipsis) > 1)
    fail(ErrorKind::kKey, "a key with more than one ellipsis");
  return dimensions - named;
}

std::shared_ptr<const IndexList> wrapped(const IndexList& list, Index extent, std::size_t axis,
                                         EmptyLists empty) {
  if (list.empty() && empty == EmptyLists::kRefused)
    fail(ErrorKind::kKey, "axis {}: a list without indices", axis);
  auto result = std::make_shared<IndexList>();
  result->reserve(list.size());
  for (const Index index : list)
    result->push_back(wrap_index(index, extent, static_cast<int>(axis)));
  return result;
}

// Returns, for each axis of a mask, the indices of its true places, in row-major order.
std::vector<std::shared_ptr<const IndexList>> true_places(const MaskList& mask,
                                                          std::span<const Index> extents,
                                                          std::size_t axis) {
  if (mask.shape.empty()) fail(ErrorKind::kKey, "a mask without axes");
  for (std::size_t k = 0; k < mask.shape.size(); ++k) {
    if (mask.shape[k] != extents[k])
      fail(ErrorKind::kShape, "axis {}: a mask of extent {} for an extent of {}", axis + k,
           mask.shape[k], extents[k]);
  }
  if (static_cast<Index>(mask.values.size()) != element_count(mask.shape))
    fail(ErrorKind::kShape, "a mask of {} values for {} elements", mask.values.size(),
         element_count(mask.shape));
  std::vector<std::shared_ptr<IndexList>> lists;
  for (std::size_t k = 0; k < mask.shape.size(); ++k)
    lists.push_back(std::make_shared<IndexList>());
  for (std::size_t place = 0; place < mask.values.size(); ++place) {
    if (!mask.values[place]) continue;
    auto rest = static_cast<Index>(place);
    for (std::size_t k = mask.shape.size(); k-- > 0; rest /= mask.shape[k])
      lists[k]->push_back(rest % mask.shape[k]);
  }
  return {lists.begin(), lists.end()};
}

}  // namespace

ResolvedKey::ResolvedKey(std::span<const AxisKey> key, std::span<const Index> array,
                         EmptyLists empty) {
  const std::size_t left_over = axes_left_over(key, array.size());
  std::vector<std::size_t> parts;  // for each axis, the number of its part of the key
  const auto add = [&](Choice choice, std::size_t part) {
    axes_.push_back(std::move(choice));
    parts.push_back(part);
  };
  const auto extent = [&] { return array[axes_.size()]; };
  constexpr int kAnyDimension = 0;  // numbered below
  for (std::size_t number = 0; number < key.size(); ++number) {
    const std::size_t axis = axes_.size();
    if (const auto* index = std::get_if<Index>(&key[number])) {
      add({{wrap_index(*index, extent(), static_cast<int>(axis)), 1, 1}, nullptr, kNoDimension},
          number);
    } else if (const auto* slice = std::get_if<Slice>(&key[number])) {
      add({slice->resolve(extent()), nullptr, kAnyDimension}, number);
    } else if (const auto* list = std::get_if<IndexList>(&key[number])) {
      add({{}, wrapped(*list, extent(), axis, empty), kAnyDimension}, number);
    } else if (const auto* mask = std::get_if<MaskList>(&key[number])) {
      for (auto& places : true_places(*mask, array.subspan(axis, mask->shape.size()), axis))
        add({{}, std::move(places), kAnyDimension}, number);
    } else {
      for (std::size_t k = 0; k < left_over; ++k)
        add({{0, extent(), 1}, nullptr, kAnyDimension}, number);
    }
  }
  while (axes_.size() < array.size()) add({{0, extent(), 1}, nullptr, kAnyDimension}, key.size());
  number_dimensions(run_lists_together(), parts);
  size_ = element_count(shape_);
}

std::optional<Index> ResolvedKey::run_lists_together() {
  std::optional<Index> length;
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    if (axes_[axis].list == nullptr) continue;
    const auto own = static_cast<Index>(axes_[axis].list->size());
    if (length.value_or(1) == 1) {
      length = own;
    } else if (own != 1 && own != *length) {
      fail(ErrorKind::kKey, "axis {}: {} indices beside {} of an axis before", axis, own, *length);
    }
  }
  for (Choice& choice : axes_) {
    if (choice.list == nullptr || static_cast<Index>(choice.list->size()) == *length) continue;
    choice.list =
        std::make_shared<IndexList>(static_cast<std::size_t>(*length), choice.list->front());
  }
  return length;
}

void ResolvedKey::number_dimensions(std::optional<Index> list_length,
                                    std::span<const std::size_t> parts) {
  // Single indices take part as lists if there are lists.
  const auto in_list = [&](std::size_t axis) {
    return axes_[axis].list != nullptr || axes_[axis].dimension == kNoDimension;
  };
  bool side_by_side = true;
  std::optional<std::size_t> last;
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    if (!in_list(axis)) continue;
    if (last && parts[axis] > *last + 1) side_by_side = false;
    last = parts[axis];
  }
  const auto place_lists = [&] {
    if (!list_length || list_dimension_ != kNoDimension) return;
    list_dimension_ = static_cast<int>(shape_.size());
    shape_.push_back(*list_length);
  };
  if (!side_by_side) place_lists();
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    Choice& choice = axes_[axis];
    if (in_list(axis)) {
      place_lists();
      if (choice.list != nullptr) choice.dimension = list_dimension_;
      continue;
    }
    choice.dimension = static_cast<int>(shape_.size());
    shape_.push_back(choice.triplet.count);
  }
}

bool ResolvedKey::is_whole(std::span<const Index> array) const {
  for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
    const Choice& choice = axes_[axis];
    if (choice.list != nullptr || choice.dimension == kNoDimension ||
        choice.triplet.count != array[axis] ||
        (choice.triplet.step != 1 && choice.triplet.count > 1))
      return false;
  }
  return true;
}

Section ResolvedKey::section() const {
  Section section;
  for (const Choice& choice : axes_) section.push_back(choice.triplet);
  return section;
}

std::vector<int> ResolvedKey::sources() const {
  std::vector<int> sources(shape_.size(), -1);
  for (std::size_t axis = axes_.size(); axis-- > 0;) {
    if (axes_[axis].dimension != kNoDimension)
      sources[static_cast<std::size_t>(axes_[axis].dimension)] = static_cast<int>(axis);
  }
  return sources;
}

std::uint64_t ResolvedKey::hash() const {
  Hasher hasher;
  for (const Choice& choice : axes_) {
    hasher.add(choice.dimension);
    if (choice.list != nullptr) {
      for (const Index index : *choice.list) hasher.add(index);
    } else {
      for (const Index number : {choice.triplet.start, choice.triplet.count, choice.triplet.step})
        hasher.add(number);
    }
  }
  for (const Index extent : shape_) hasher.add(extent);
  return hasher.value();
}

}  // namespace impishim::darray
