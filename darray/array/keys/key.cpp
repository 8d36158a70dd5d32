// SPDX-License-Identifier: Apache-2.0
#include "darray/array/keys/key.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "darray/array/keys/key_handles.hpp"

namespace impishim::darray {

KeyPart::KeyPart(const LocalArray<Index>& indices) {
  if (indices.shape().size() != 1)
    fail(ErrorKind::kKey, "indices of {} axes: one is allowed", indices.shape().size());
  part_ = AxisKey(IndexList(indices.begin(), indices.end()));
}

namespace {

using Parts = std::vector<AxisKey>;

template <class T>
std::vector<T> local_values(const DistArray<T>& array) {
  std::vector<T> values;
  values.reserve(static_cast<std::size_t>(array.local_size()));
  array.local().for_each([&](T value) { values.push_back(value); });
  return values;
}

/// Selects whether all processes have the same key, or each process has its own.
enum class Keys : std::uint8_t { kCommon, kOwn };

/// The operation that a key is for, and its checks.
struct Purpose {
  const char* operation;
  Checks checks;
};

/// Returns the text of a key's choice on one axis: "3", "0:8:2", "a list of 5".
std::string text_of(const ResolvedKey::Choice& choice) {
  if (choice.list != nullptr) return fmt::format("a list of {}", choice.list->size());
  const Triplet& triplet = choice.triplet;
  if (choice.dimension == ResolvedKey::kNoDimension) return fmt::format("{}", triplet.start);
  return fmt::format("{}:{}:{}", triplet.start, triplet.start + triplet.count * triplet.step,
                     triplet.step);
}

std::string text_of(const ResolvedKey& key) {
  std::vector<std::string> axes;
  for (const ResolvedKey::Choice& choice : key.axes()) axes.push_back(text_of(choice));
  const std::string text = fmt::format("[{}]", fmt::join(axes, ", "));
  return key.is_section() ? text : fmt::format("{} with lists {:016x}", text, key.hash());
}

ResolvedKey resolve(const Layout& array, const Parts& parts, const Purpose& purpose,
                    EmptyLists empty, Keys keys) {
  std::optional<ResolvedKey> key;
  const auto call = [&] {
    CollectiveCall given(purpose.operation);
    given.with("array", array.distribution());
    if (keys == Keys::kCommon && key) given.with("key", text_of(*key));
    return given;
  };
  agreed(array.communicator(), purpose.checks, call, [&] {
    key.emplace(parts, array.shape(), empty);
    check_labels(array.distribution(), *key);
  });
  return *std::move(key);
}

SelectedKey select_common(const Layout& array, const Parts& parts, const Purpose& purpose) {
  return {resolve(array, parts, purpose, EmptyLists::kRefused, Keys::kCommon)};
}

// Selects by a key whose distributed arrays are gathered on every process.
SelectedKey select_put_together(const Layout& array, const Key& key, const Purpose& purpose) {
  Parts parts;
  for (const KeyPart& part : key.parts()) {
    if (part.indices() != nullptr) {
      parts.emplace_back(std::in_place_type<IndexList>, 0);
      const LocalArray<Index> whole = part.indices()->get_full();
      parts.back() = IndexList(whole.begin(), whole.end());
    } else if (part.mask() != nullptr) {
      const LocalArray<bool> whole = part.mask()->get_full();
      parts.emplace_back(MaskList{whole.shape(), std::vector<bool>(whole.begin(), whole.end())});
    } else {
      parts.push_back(*part.local());
    }
  }
  return {resolve(array, parts, purpose, EmptyLists::kAllowed, Keys::kCommon)};
}

// Returns the slices of the first layout that is cut in slices of axis 0. If there is none, returns
// the slices of `equal`.
LayoutPtr slices_among(std::initializer_list<const Layout*> layouts, const LayoutPtr& given) {
  for (const Layout* layout : layouts) {
    if (!layout->is_everywhere() && layout->slice_bounds())
      return Layout::make_slices(layout->context(), *layout->slice_bounds(), layout->shape());
  }
  return Layout::make(given->context(), given->shape(), kEqual, Checks::kOff);
}

// Returns this process's piece of an array in a layout.
template <class T>
std::vector<T> piece(const DistArray<T>& array, const LayoutPtr& layout) {
  if (layout->aligned(*array.layout())) return local_values(array);
  DistArray<T> here(layout);
  here.set_full(array, Checks::kOff);
  return local_values(here);
}

// Selects by a mask of the array's shape: each process keeps the true places of its rows.
SelectedKey select_by_mask(const Layout& array, const DistArray<bool>& mask,
                           const Purpose& purpose) {
  const LayoutPtr rows = slices_among({&array, mask.layout().get()}, mask.layout());
  const std::vector<bool> values = piece(mask, rows);
  const std::vector<Index>& extents = rows->owned_shape();
  const Index first = rows->slice_bounds().value()[static_cast<std::size_t>(rows->rank())];
  std::vector<IndexList> lists(extents.size());
  for (std::size_t place = 0; place < values.size(); ++place) {
    if (!values[place]) continue;
    auto rest = static_cast<Index>(place);
    for (std::size_t axis = extents.size(); axis-- > 0; rest /= extents[axis])
      lists[axis].push_back(rest % extents[axis]);
    lists[0].back() += first;
  }
  SelectedKey selected{
      resolve(array, {lists.begin(), lists.end()}, purpose, EmptyLists::kAllowed, Keys::kOwn),
      false};
  selected.layout = Layout::make_freeform(array.context(), selected.key.shape(), Checks::kOff);
  return selected;
}

// Selects by distributed lists: each process keeps the entries of its slice. Returns nothing if the
// dimension of the lists is not the first one.
std::optional<SelectedKey> select_by_lists(const Layout& array, const Key& key,
                                           const DistArray<Index>& leader, const Purpose& purpose) {
  const LayoutPtr slices = slices_among({leader.layout().get()}, leader.layout());
  const std::vector<Index> bounds = slices->slice_bounds().value();
  const Index begin = bounds[static_cast<std::size_t>(slices->rank())];
  const Index end = bounds[static_cast<std::size_t>(slices->rank()) + 1];
  Parts parts;
  for (const KeyPart& part : key.parts()) {
    if (part.indices() != nullptr) {
      parts.emplace_back(piece(*part.indices(), slices));
      continue;
    }
    parts.push_back(*part.local());
    auto* list = std::get_if<IndexList>(&parts.back());
    if (list != nullptr && list->size() != 1)
      *list = IndexList(list->begin() + begin, list->begin() + end);
  }
  SelectedKey selected{resolve(array, parts, purpose, EmptyLists::kAllowed, Keys::kOwn), false};
  if (selected.key.list_dimension() != 0) return std::nullopt;
  Shape shape = selected.key.shape();
  shape[0] = bounds.back();
  selected.layout = Layout::make_slices(array.context(), bounds, shape);
  return selected;
}

// Checks conditions on distributed parts that must hold on all processes.
void check_distributed(const Layout& array, const Key& key) {
  std::optional<Index> length;
  for (const KeyPart& part : key.parts()) {
    if (const DistArray<Index>* indices = part.indices()) {
      if (indices->dimensions() != 1)
        fail(ErrorKind::kKey, "indices of {} axes: one is allowed", indices->dimensions());
      if (indices->layout()->context() != array.context())
        fail(ErrorKind::kKey, "distributed indices of another communicator");
      if (length && *length != indices->size())
        fail(ErrorKind::kKey, "{} distributed indices beside {}", indices->size(), *length);
      length = indices->size();
    }
    if (part.mask() != nullptr && part.mask()->layout()->context() != array.context())
      fail(ErrorKind::kKey, "a distributed mask of another communicator");
  }
  if (!length) return;
  for (const KeyPart& part : key.parts()) {
    const bool is_mask =
        part.mask() != nullptr ||
        (part.local() != nullptr && std::holds_alternative<MaskList>(*part.local()));
    if (is_mask)
      fail(ErrorKind::kUnsupported, "a mask beside distributed indices: give where() of it");
    if (part.local() == nullptr) continue;
    const auto* list = std::get_if<IndexList>(part.local());
    if (list != nullptr && list->size() != 1 && static_cast<Index>(list->size()) != *length)
      fail(ErrorKind::kKey, "{} indices beside {} distributed ones", list->size(), *length);
  }
}

SelectedKey select_distributed(const Layout& array, const Key& key, const Purpose& purpose) {
  std::vector<std::uint64_t> names;
  const DistArray<Index>* leader = nullptr;
  const DistArray<bool>* mask = nullptr;
  bool everywhere = true;
  for (const KeyPart& part : key.parts()) {
    if (part.local() != nullptr) continue;
    const ArrayId id = part.mask() != nullptr ? part.mask()->id() : part.indices()->id();
    names.insert(names.end(), {id.group, id.number});
    everywhere =
        everywhere && (part.mask() != nullptr ? part.mask()->layout() : part.indices()->layout())
                          ->is_everywhere();
    if (part.mask() != nullptr) mask = part.mask();
    if (leader == nullptr) leader = part.indices();
  }
  const auto call = [&] {
    CollectiveCall given(purpose.operation);
    given.with("array", array.distribution());
    return given.with("groups and numbers of the key's distributed arrays",
                      std::span<const std::uint64_t>(names));
  };
  agreed(array.communicator(), purpose.checks, call, [&] { check_distributed(array, key); });
  // Masks of some axes are gathered; resolving the gathered key then finds the errors.
  const bool whole_mask = mask != nullptr && key.parts().size() == 1 &&
                          mask->shape() == array.shape() && !array.shape().empty();
  if (!everywhere && whole_mask) return select_by_mask(array, *mask, purpose);
  if (!everywhere && leader != nullptr) {
    if (std::optional<SelectedKey> selected = select_by_lists(array, key, *leader, purpose))
      return *std::move(selected);
  }
  return select_put_together(array, key, purpose);
}

}  // namespace

SelectedKey select(const Layout& array, const Key& key, const KeyOptions& options,
                   const char* operation) {
  const Purpose purpose{operation, options.checks};
  if (options.local_keys) {
    const Parts parts = parts_of_own_key(array.context(), key, options.checks);
    return {resolve(array, parts, purpose, EmptyLists::kAllowed, Keys::kOwn), false};
  }
  Parts parts;
  for (const KeyPart& part : key.parts()) {
    if (part.local() == nullptr) return select_distributed(array, key, purpose);
    parts.push_back(*part.local());
  }
  return select_common(array, parts, purpose);
}

}  // namespace impishim::darray
