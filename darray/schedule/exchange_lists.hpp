// SPDX-License-Identifier: Apache-2.0
/// Exchanges of one list per rank, whose lengths the receivers do not know. They serve plans and
/// negotiations, not array data.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "darray/communicator/communicator.hpp"
#include "darray/communicator/element.hpp"

namespace impishim::darray {

/// Sends sent[r] to rank r. Returns the numbers that were received: entry r is from rank r.
/// Collective. Throws Error(kArgument) if the number of entries is not the number of ranks. Throws
/// Error(kMpi) if an MPI call fails.
std::vector<Index> exchange_counts(const Communicator& communicator, std::span<const Index> sent);

/// Sends sent[r] to rank r and receives received[r] from rank r. The spans are bytes of whole
/// elements, and both sides know their lengths. `buffers` owns the memory of all spans: if an MPI
/// call fails while messages are in progress, it is kept for ever, because MPI still uses it.
/// Collective. Throws Error(kMpi) if an MPI call fails.
void exchange_spans(const Communicator& communicator, const Element& element,
                    std::span<const std::span<const std::byte>> sent,
                    std::span<const std::span<std::byte>> received,
                    std::shared_ptr<const void> buffers);

/// Sends lists[r] to rank r. Returns the lists that were received: entry r is from rank r. It owns
/// the lists that it sends: move them. Collective. Throws Error(kArgument) if the number of lists
/// is not the number of ranks. Throws Error(kMpi) if an MPI call fails.
template <class T>
std::vector<std::vector<T>> exchange_lists(const Communicator& communicator,
                                           std::vector<std::vector<T>> lists) {
  struct Buffers {
    std::vector<std::vector<T>> sent;
    std::vector<std::vector<T>> received;
  };
  const auto buffers = std::make_shared<Buffers>(Buffers{std::move(lists), {}});
  std::vector<Index> counts;
  for (const auto& list : buffers->sent) counts.push_back(static_cast<Index>(list.size()));
  counts = exchange_counts(communicator, counts);
  std::vector<std::span<const std::byte>> sent;
  std::vector<std::span<std::byte>> received;
  for (const Index count : counts) buffers->received.emplace_back(static_cast<std::size_t>(count));
  for (const auto& list : buffers->sent) sent.push_back(std::as_bytes(std::span(list)));
  for (auto& list : buffers->received) received.push_back(std::as_writable_bytes(std::span(list)));
  exchange_spans(communicator, element_of<T>(), sent, received, buffers);
  return std::move(buffers->received);
}

}  // namespace impishim::darray
