// SPDX-License-Identifier: Apache-2.0
#include "darray/schedule/lookup_schedule.hpp"

#include <algorithm>
#include <utility>

#include "darray/schedule/exchange_lists.hpp"

namespace impishim::darray {

WordSchedule lookup_schedule(const Communicator& communicator, Element element,
                             std::span<const Location> wanted, std::span<const Index> destination,
                             ScheduleOptions options) {
  const auto call = [&] {
    return CollectiveCall("lookup")
        .with("element", element)
        .with("chunk_bytes", options.chunk_bytes);
  };
  agreed(communicator, options.checks, call, [&] {
    if (!destination.empty() && destination.size() != wanted.size()) {
      fail(ErrorKind::kArgument, "{} destinations for {} wanted elements", destination.size(),
           wanted.size());
    }
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      if (wanted[k].rank < Location::kNowhere || wanted[k].rank >= communicator.size()) {
        fail(ErrorKind::kArgument, "wanted element {} is at rank {}, of {}", k, wanted[k].rank,
             communicator.size());
      }
    }
  });
  const auto size = static_cast<std::size_t>(communicator.size());
  std::vector<std::vector<Index>> requests(size);
  std::vector<std::vector<Index>> places(size);
  std::vector<std::size_t> counts(size, 0);
  for (const Location& location : wanted) {
    if (location.rank != Location::kNowhere) ++counts[static_cast<std::size_t>(location.rank)];
  }
  for (std::size_t peer = 0; peer < size; ++peer) {
    requests[peer].reserve(counts[peer]);
    places[peer].reserve(counts[peer]);
  }
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    if (wanted[k].rank == Location::kNowhere) continue;
    const auto owner = static_cast<std::size_t>(wanted[k].rank);
    requests[owner].push_back(wanted[k].offset);
    places[owner].push_back(destination.empty() ? static_cast<Index>(k) : destination[k]);
  }
  const auto asked = exchange_lists(communicator, std::move(requests));
  // Both sides have the same numbers, so there is nothing left to check.
  options.checks = Checks::kOff;
  WordSchedule schedule(communicator, element, options);
  for (std::size_t peer = 0; peer < size; ++peer) {
    schedule.add_send(static_cast<int>(peer), asked[peer]);
    schedule.add_receive(static_cast<int>(peer), places[peer]);
  }
  schedule.build();
  return schedule;
}

}  // namespace impishim::darray
