// SPDX-License-Identifier: Apache-2.0
#include "darray/array/keys/key_handles.hpp"

#include "darray/array/core/local_copy.hpp"

namespace impishim::darray {

namespace detail {

std::vector<std::vector<ArrayId>> exchange_ids(const Communicator& communicator,
                                               const std::vector<ArrayId>& mine) {
  const auto count = static_cast<Index>(mine.size());
  Index most = 0;
  check_mpi(MPI_Allreduce(&count, &most, 1, MPI_INT64_T, MPI_MAX, communicator.get()),
            "MPI_Allreduce");
  const auto processes = static_cast<std::size_t>(communicator.size());
  std::vector<std::vector<ArrayId>> ids(processes);
  if (most == 0) return ids;
  std::vector<std::uint64_t> words;
  for (const ArrayId& id : mine) words.insert(words.end(), {id.group, id.number});
  const auto all =
      exchange_lists(communicator, std::vector<std::vector<std::uint64_t>>(processes, words));
  for (std::size_t process = 0; process < processes; ++process) {
    for (std::size_t k = 0; k < all[process].size(); k += 2)
      ids[process].push_back({all[process][k], all[process][k + 1]});
  }
  return ids;
}

const void* array_named(Context& context, const ArrayId& id, Scalar scalar, std::size_t by) {
  const void* found = context.librarian().find(id, scalar);
  if (found == nullptr)
    fail(ErrorKind::kArgument, "array {} that process {} names is not here any more", id.number,
         by);
  return found;
}

IndexList places_of_piece(const Layout& layout) {
  const std::vector<Index> strides = StridedView<char>::row_major(layout.shape());
  const std::vector<std::vector<Index>> indices = layout.global_indices();
  IndexList places;
  if (layout.owned_size() == 0) return places;
  check_labels_are_indices(layout, indices);
  const auto walk = [&](const auto& self, std::size_t axis, Index place) -> void {
    if (axis == indices.size()) {
      places.push_back(place);
      return;
    }
    for (const Index index : indices[axis]) self(self, axis + 1, place + index * strides[axis]);
  };
  walk(walk, 0, 0);
  return places;
}

bool sends_piece(const Layout& layout, int asking) {
  return layout.is_everywhere() ? layout.rank() == asking
                                : layout.distribution().is_primary(layout.rank());
}

}  // namespace detail

std::vector<AxisKey> parts_of_own_key(const ContextPtr& context, const Key& key, Checks checks) {
  std::vector<const DistArray<Index>*> lists;
  std::vector<const DistArray<bool>*> masks;
  agreed(context->communicator(), checks, "local keys", [&] {
    for (const KeyPart& part : key.parts()) {
      if (part.mask() != nullptr) masks.push_back(part.mask());
      if (part.indices() == nullptr) continue;
      if (part.indices()->dimensions() != 1)
        fail(ErrorKind::kKey, "indices of {} axes: one is allowed", part.indices()->dimensions());
      lists.push_back(part.indices());
    }
  });
  const auto indices = collect_handles(context, lists, checks);
  const auto truths = collect_handles(context, masks, checks);
  std::vector<AxisKey> parts;
  std::size_t list = 0;
  std::size_t mask = 0;
  for (const KeyPart& part : key.parts()) {
    if (part.indices() != nullptr) {
      parts.emplace_back(indices[list++]);
    } else if (part.mask() != nullptr) {
      parts.emplace_back(MaskList{part.mask()->shape(),
                                  std::vector<bool>(truths[mask].begin(), truths[mask].end())});
      ++mask;
    } else {
      parts.push_back(*part.local());
    }
  }
  return parts;
}

}  // namespace impishim::darray
