#include "darray/array/key.hpp"

#include <algorithm>

#include "darray/array/key_handles.hpp"
#include "darray/base/hash.hpp"

namespace impishim::darray {

KeyPart::KeyPart(const LocalArray<Index>& indices) {
  if (indices.shape().size() != 1) fail(ErrorKind::kKey, "indices of {} axes: one is allowed", indices.shape().size());
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

ResolvedKey resolve(const Layout& array, const Parts& parts, Checks checks, EmptyLists empty) {
  std::optional<ResolvedKey> key;
  agreed(array.communicator(), checks, [&] {
    key.emplace(parts, array.shape(), empty);
    check_labels(array.distribution(), *key);
  });
  return *std::move(key);
}

SelectedKey select_common(const Layout& array, const Parts& parts, Checks checks) {
  SelectedKey selected{resolve(array, parts, checks, EmptyLists::kRefused)};
  agree_on_equal(array.communicator(), checks, "a key", static_cast<Index>(selected.key.hash()));
  return selected;
}

// A key whose distributed arrays every process gets whole.
SelectedKey select_put_together(const Layout& array, const Key& key, Checks checks) {
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
  SelectedKey selected{resolve(array, parts, checks, EmptyLists::kAllowed)};
  agree_on_equal(array.communicator(), checks, "a key", static_cast<Index>(selected.key.hash()));
  return selected;
}

// The first layout that is slices of axis 0; else those of `equal`.
LayoutPtr slices_among(std::initializer_list<const Layout*> layouts, const LayoutPtr& given) {
  for (const Layout* layout : layouts) {
    if (!layout->is_everywhere() && layout->slice_bounds())
      return Layout::make_slices(layout->context(), *layout->slice_bounds(), layout->shape());
  }
  return Layout::make(given->context(), given->shape(), kEqual, Checks::kOff);
}

// This process's piece of an array in a layout.
template <class T>
std::vector<T> piece(const DistArray<T>& array, const LayoutPtr& layout) {
  if (layout->aligned(*array.layout())) return local_values(array);
  DistArray<T> here(layout);
  here.set_full(array);
  return local_values(here);
}

// A mask of the array's shape: each process has the true places of its rows.
SelectedKey select_by_mask(const Layout& array, const DistArray<bool>& mask, Checks checks) {
  const LayoutPtr rows = slices_among({&array, mask.layout().get()}, mask.layout());
  const std::vector<bool> values = piece(mask, rows);
  const std::vector<Index>& extents = rows->owned_shape();
  const Index first = rows->slice_bounds().value()[static_cast<std::size_t>(rows->rank())];
  std::vector<IndexList> lists(extents.size());
  for (std::size_t place = 0; place < values.size(); ++place) {
    if (!values[place]) continue;
    auto rest = static_cast<Index>(place);
    for (std::size_t axis = extents.size(); axis-- > 0; rest /= extents[axis]) lists[axis].push_back(rest % extents[axis]);
    lists[0].back() += first;
  }
  SelectedKey selected{resolve(array, {lists.begin(), lists.end()}, checks, EmptyLists::kAllowed), false};
  selected.layout = Layout::make_freeform(array.context(), selected.key.shape(), Checks::kOff);
  return selected;
}

// Distributed lists: each process has the entries of its slice. Nothing if their dimension is not the first one.
std::optional<SelectedKey> select_by_lists(const Layout& array, const Key& key, const DistArray<Index>& leader, Checks checks) {
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
    if (list != nullptr && list->size() != 1) *list = IndexList(list->begin() + begin, list->begin() + end);
  }
  SelectedKey selected{resolve(array, parts, checks, EmptyLists::kAllowed), false};
  if (selected.key.list_dimension() != 0) return std::nullopt;
  Shape shape = selected.key.shape();
  shape[0] = bounds.back();
  selected.layout = Layout::make_slices(array.context(), bounds, shape);
  return selected;
}

// What must be so on all processes alike, before distributed parts are used.
void check_distributed(const Layout& array, const Key& key) {
  std::optional<Index> length;
  for (const KeyPart& part : key.parts()) {
    if (const DistArray<Index>* indices = part.indices()) {
      if (indices->dimensions() != 1) fail(ErrorKind::kKey, "indices of {} axes: one is allowed", indices->dimensions());
      if (indices->layout()->context() != array.context()) fail(ErrorKind::kKey, "distributed indices of another communicator");
      if (length && *length != indices->size())
        fail(ErrorKind::kKey, "{} distributed indices beside {}", indices->size(), *length);
      length = indices->size();
    }
    if (part.mask() != nullptr && part.mask()->layout()->context() != array.context())
      fail(ErrorKind::kKey, "a distributed mask of another communicator");
  }
  if (!length) return;
  for (const KeyPart& part : key.parts()) {
    const bool is_mask = part.mask() != nullptr || (part.local() != nullptr && std::holds_alternative<MaskList>(*part.local()));
    if (is_mask) fail(ErrorKind::kUnsupported, "a mask beside distributed indices: give where() of it");
    if (part.local() == nullptr) continue;
    const auto* list = std::get_if<IndexList>(part.local());
    if (list != nullptr && list->size() != 1 && static_cast<Index>(list->size()) != *length)
      fail(ErrorKind::kKey, "{} indices beside {} distributed ones", list->size(), *length);
  }
}

SelectedKey select_distributed(const Layout& array, const Key& key, Checks checks) {
  Hasher names;
  const DistArray<Index>* leader = nullptr;
  const DistArray<bool>* mask = nullptr;
  bool everywhere = true;
  for (const KeyPart& part : key.parts()) {
    if (part.local() != nullptr) continue;
    const ArrayId id = part.mask() != nullptr ? part.mask()->id() : part.indices()->id();
    names.add(id.group);
    names.add(id.number);
    everywhere = everywhere && (part.mask() != nullptr ? part.mask()->layout() : part.indices()->layout())->is_everywhere();
    if (part.mask() != nullptr) mask = part.mask();
    if (leader == nullptr) leader = part.indices();
  }
  agreed(array.communicator(), checks, [&] { check_distributed(array, key); });
  agree_on_equal(array.communicator(), checks, "a key of distributed arrays (by their numbers)",
                 static_cast<Index>(names.value()));
  // Masks of some axes are put together, and what does not fit is found there.
  const bool whole_mask =
      mask != nullptr && key.parts().size() == 1 && mask->shape() == array.shape() && !array.shape().empty();
  if (!everywhere && whole_mask) return select_by_mask(array, *mask, checks);
  if (!everywhere && leader != nullptr) {
    if (std::optional<SelectedKey> selected = select_by_lists(array, key, *leader, checks)) return *std::move(selected);
  }
  return select_put_together(array, key, checks);
}

}  // namespace

SelectedKey select(const Layout& array, const Key& key, const KeyOptions& options) {
  if (options.local_keys) {
    const Parts parts = parts_of_own_key(array.context(), key, options.checks);
    return {resolve(array, parts, options.checks, EmptyLists::kAllowed), false};
  }
  Parts parts;
  for (const KeyPart& part : key.parts()) {
    if (part.local() == nullptr) return select_distributed(array, key, options.checks);
    parts.push_back(*part.local());
  }
  return select_common(array, parts, options.checks);
}

}  // namespace impishim::darray
