// SPDX-License-Identifier: Apache-2.0
/// Distributed arrays that a single process names in its key (D2O-39, D2O-45).
#pragma once

#include <vector>

#include "darray/array/keys/key.hpp"
#include "darray/schedule/exchange_lists.hpp"

namespace impishim::darray {

namespace detail {

/// Exchanges the ids of the arrays that each process asks for. Returns the ids for each process.
/// Collective.
[[nodiscard]] std::vector<std::vector<ArrayId>> exchange_ids(const Communicator& communicator,
                                                             const std::vector<ArrayId>& mine);

/// Returns this process's piece of the array with this id, which process `by` names. Throws
/// Error(kArgument) if the array no longer exists here.
[[nodiscard]] const void* array_named(Context& context, const ArrayId& id, Scalar scalar,
                                      std::size_t by);

/// Returns the place of each owned element in the row-major order of the whole array. Labels count
/// as the indices that they are. Throws Error(kKey) if a label is not an index.
[[nodiscard]] IndexList places_of_piece(const Layout& layout);

/// Returns true if this process sends its piece of an array to the process that asks for it: one
/// copy of each element is enough.
[[nodiscard]] bool sends_piece(const Layout& layout, int asking);

}  // namespace detail

/// The type in which elements are sent: truth values are sent as bytes.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;

/// Collects all elements of arrays on the processes that ask for them, in one exchange. Each
/// process may ask for different arrays. Entry k of the result has the elements of arrays[k],
/// row-major. Each process has only its own objects of its arrays; the other processes find theirs
/// by the id, through the librarian. Collective.
///
/// Throws Error(kArgument) for an array of another communicator, and for one that no longer exists
/// on another process. Throws Error(kKey) for an array with labels that are not indices. With
/// checks, all processes throw the error.
template <class T>
[[nodiscard]] std::vector<std::vector<Stored<T>>> collect_handles(
    const ContextPtr& context, const std::vector<const DistArray<T>*>& arrays, Checks checks) {
  const Communicator& communicator = context->communicator();
  std::vector<ArrayId> mine;
  agreed(communicator, checks, "arrays of local keys", [&] {
    for (const DistArray<T>* array : arrays) {
      if (array->layout()->context() != context)
        fail(ErrorKind::kArgument, "an array of another communicator");
      mine.push_back(array->id());
    }
  });
  const std::vector<std::vector<ArrayId>> ids = detail::exchange_ids(communicator, mine);
  std::vector<std::vector<Index>> places(
      ids.size());  // for each process, its arrays one after the other
  std::vector<std::vector<Stored<T>>> values(ids.size());
  agreed(communicator, checks, "arrays of local keys", [&] {
    for (std::size_t process = 0; process < ids.size(); ++process) {
      Index before = 0;
      for (const ArrayId& id : ids[process]) {
        const auto* array = static_cast<const DistArray<T>*>(
            detail::array_named(*context, id, scalar_of<T>(), process));
        if (detail::sends_piece(*array->layout(), static_cast<int>(process))) {
          for (const Index place : detail::places_of_piece(*array->layout()))
            places[process].push_back(before + place);
          array->local().for_each([&](const T& value) { values[process].push_back(value); });
        }
        before += array->size();
      }
    }
  });
  places = exchange_lists(communicator, std::move(places));
  values = exchange_lists(communicator, std::move(values));
  std::vector<Stored<T>> all;
  for (const DistArray<T>* array : arrays)
    all.resize(all.size() + static_cast<std::size_t>(array->size()));
  for (std::size_t process = 0; process < places.size(); ++process) {
    for (std::size_t k = 0; k < places[process].size(); ++k)
      all[static_cast<std::size_t>(places[process][k])] = values[process][k];
  }
  std::vector<std::vector<Stored<T>>> result;
  auto next = all.begin();
  for (const DistArray<T>* array : arrays) {
    result.emplace_back(next, next + array->size());
    next += array->size();
  }
  return result;
}

/// Returns the parts of this process's own key, with distributed arrays gathered. Collective.
/// Throws the errors of collect_handles(), and Error(kKey) for indices of more than one axis.
[[nodiscard]] std::vector<AxisKey> parts_of_own_key(const ContextPtr& context, const Key& key,
                                                    Checks checks);

}  // namespace impishim::darray
