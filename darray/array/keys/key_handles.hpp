/// Distributed arrays that one process alone names (D2O-39, D2O-45).
#pragma once

#include <vector>

#include "darray/array/keys/key.hpp"
#include "darray/schedule/exchange_lists.hpp"

namespace impishim::darray {

namespace detail {

/// What each process asks for: the ids of arrays. Collective.
[[nodiscard]] std::vector<std::vector<ArrayId>> exchange_ids(const Communicator& communicator,
                                                             const std::vector<ArrayId>& mine);

/// The array of that id on this process, whoever names it. @throws Error kArgument if it is not
/// here any more.
[[nodiscard]] const void* array_named(Context& context, const ArrayId& id, Scalar scalar,
                                      std::size_t by);

/// The place of each owned element in the row-major order of the whole array: labels count as the
/// indices that they are.
/// @throws Error kKey for a label that is no index.
[[nodiscard]] IndexList places_of_piece(const Layout& layout);

/// Whether this process sends its piece of an array to a process that asks for it: one copy of each
/// element is enough.
[[nodiscard]] bool sends_piece(const Layout& layout, int asking);

}  // namespace detail

/// Truth values travel as bytes.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;

/// All elements of arrays, brought to the processes that ask for them in one exchange, whoever asks
/// for which: entry k of the result has those of arrays[k], row-major. Each process has only its
/// own objects of its arrays; the others find theirs by the id, through the librarian. Collective.
/// @throws Error, of all processes with checks, kArgument for an array of another communicator and
/// for one that another process does not have any more; kKey for one with labels that are no
/// indices.
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
      ids.size());  // the arrays of a process one after the other
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
  places = exchange_lists(communicator, places);
  values = exchange_lists(communicator, values);
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

/// The parts of this process's own key, distributed arrays put together. Collective. @throws as
/// collect_handles(); kKey for indices of more than one axis.
[[nodiscard]] std::vector<AxisKey> parts_of_own_key(const ContextPtr& context, const Key& key,
                                                    Checks checks);

}  // namespace impishim::darray
