// SPDX-License-Identifier: Apache-2.0
// A list for every rank, of lengths that the receivers do not know: for plans and negotiations, not
// for data.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "darray/schedule/communicator.hpp"
#include "darray/schedule/element.hpp"

namespace impishim::darray {

/// Entry r of `sent` goes to rank r; entry r of the result is what rank r has sent here.
/// Collective. Errors: kMpi, kArgument for another number of entries than ranks.
std::vector<Index> exchange_counts(const Communicator& communicator, std::span<const Index> sent);

/// Sends sent[r] to rank r and receives received[r] from there: spans of bytes, whole elements,
/// whose lengths both sides know. Collective. Errors: kMpi.
void exchange_spans(const Communicator& communicator, const Element& element,
                    std::span<const std::span<const std::byte>> sent,
                    std::span<const std::span<std::byte>> received);

/// lists[r] goes to rank r; the result's entry r is what rank r has sent here. Collective. Errors:
/// kMpi, kArgument for another number of lists than ranks.
template <class T>
std::vector<std::vector<T>> exchange_lists(const Communicator& communicator,
                                           const std::vector<std::vector<T>>& lists) {
  std::vector<Index> counts;
  for (const auto& list : lists) counts.push_back(static_cast<Index>(list.size()));
  counts = exchange_counts(communicator, counts);
  std::vector<std::vector<T>> result;
  std::vector<std::span<const std::byte>> sent;
  std::vector<std::span<std::byte>> received;
  for (const Index count : counts) result.emplace_back(static_cast<std::size_t>(count));
  for (const auto& list : lists) sent.push_back(std::as_bytes(std::span(list)));
  for (auto& list : result) received.push_back(std::as_writable_bytes(std::span(list)));
  exchange_spans(communicator, element_of<T>(), sent, received);
  return result;
}

}  // namespace impishim::darray
