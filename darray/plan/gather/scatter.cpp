// SPDX-License-Identifier: Apache-2.0
#include "darray/plan/gather/scatter.hpp"

#include <unordered_map>
#include <utility>

#include "darray/plan/core/detail/owned_part.hpp"
#include "darray/plan/gather/detail/locator.hpp"
#include "darray/schedule/exchange_lists.hpp"

namespace impishim::darray {
namespace {

// The elements that go to each rank: their offsets here, their offsets there, and their numbers in
// the order that decides between several elements for one place.
struct Outgoing {
  std::vector<std::vector<Index>> sources;
  std::vector<std::vector<Index>> targets;
  std::vector<std::vector<Index>> numbers;
};

Outgoing outgoing_of(const Communicator& communicator, const Distribution& destination,
                     const Distribution& source, const Subscripts& subscripts, Mask mask,
                     bool numbered) {
  const int rank = communicator.rank();
  const auto size = static_cast<std::size_t>(communicator.size());
  const OwnedPart part = owned_part(source, rank);
  const ActiveSubscripts active(subscripts, mask, destination.dimensions(), part.size);
  Outgoing result{std::vector<std::vector<Index>>(size), std::vector<std::vector<Index>>(size),
                  std::vector<std::vector<Index>>(size)};
  const Locator::Copies copies = Locator(communicator, destination).all(active);
  if (!source.is_primary(rank)) return result;
  const std::vector<Index> offsets = part.offsets();
  const std::vector<Index> numbers = numbered ? global_numbers(source, rank) : std::vector<Index>();
  for (std::size_t k = 0; k < copies.locations.size(); ++k) {
    const Index named = copies.elements.empty() ? static_cast<Index>(k) : copies.elements[k];
    const auto element = static_cast<std::size_t>(active.element(named));
    const auto peer = static_cast<std::size_t>(copies.locations[k].rank);
    result.sources[peer].push_back(offsets[element]);
    result.targets[peer].push_back(copies.locations[k].offset);
    if (numbered) result.numbers[peer].push_back(numbers[element]);
  }
  return result;
}

using Lists = std::vector<std::vector<Index>>;
using Verdicts = std::vector<std::vector<bool>>;

// Decides which arriving elements stay: of all elements for one offset, only the one with the
// highest number. Of equal numbers, the one from the highest rank stays.
template <class Best>
Verdicts winners(const Lists& offsets, const Lists& numbers, Best& best) {
  for (std::size_t peer = 0; peer < offsets.size(); ++peer) {
    for (std::size_t k = 0; k < offsets[peer].size(); ++k) {
      auto& [number, rank] = best[static_cast<std::size_t>(offsets[peer][k])];
      if (rank < 0 || numbers[peer][k] >= number) {
        number = numbers[peer][k];
        rank = static_cast<int>(peer);
      }
    }
  }
  Verdicts stays(offsets.size());
  for (std::size_t peer = 0; peer < offsets.size(); ++peer) {
    for (std::size_t k = 0; k < offsets[peer].size(); ++k) {
      const auto& [number, rank] = best[static_cast<std::size_t>(offsets[peer][k])];
      stays[peer].push_back(number == numbers[peer][k] && rank == static_cast<int>(peer));
    }
  }
  return stays;
}

struct Candidate {
  Index number = 0;
  int rank = -1;
};

Verdicts winners(const Lists& offsets, const Lists& numbers, Index buffer) {
  std::size_t count = 0;
  for (const auto& list : offsets) count += list.size();
  if (buffer <= 8 * static_cast<Index>(count)) {
    std::vector<Candidate> best(static_cast<std::size_t>(buffer));
    return winners(offsets, numbers, best);
  }
  std::unordered_map<std::size_t, Candidate> best(count);
  return winners(offsets, numbers, best);
}

void keep(std::vector<Index>& list, const std::vector<bool>& stays) {
  std::size_t end = 0;
  for (std::size_t k = 0; k < list.size(); ++k) {
    if (stays[k]) list[end++] = list[k];
  }
  list.resize(end);
}

// Removes the elements that do not stay from the lists of both sides.
void drop_losers(const Communicator& communicator, Index buffer, Outgoing& outgoing,
                 Lists& incoming) {
  const Lists numbers = exchange_lists(communicator, std::move(outgoing.numbers));
  const Verdicts stays = winners(incoming, numbers, buffer);
  std::vector<std::vector<std::uint8_t>> answers(stays.size());
  for (std::size_t peer = 0; peer < stays.size(); ++peer) {
    answers[peer].assign(stays[peer].begin(), stays[peer].end());
    keep(incoming[peer], stays[peer]);
  }
  const auto verdicts = exchange_lists(communicator, std::move(answers));
  for (std::size_t peer = 0; peer < verdicts.size(); ++peer) {
    keep(outgoing.sources[peer], std::vector<bool>(verdicts[peer].begin(), verdicts[peer].end()));
  }
}

WordSchedule plan(const Communicator& communicator, const Distribution& destination,
                  const Distribution& source, const Subscripts& subscripts, const Element& element,
                  const Combiner& combine, Mask mask, ScheduleOptions options) {
  Outgoing outgoing;
  const auto call = [&] {
    CollectiveCall given("scatter");
    given.with("destination", destination).with("source", source).with("element", element);
    return given.with("has an operator", !combine.replaces())
        .with("chunk_bytes", options.chunk_bytes);
  };
  agreed(communicator, options.checks, call, [&] {
    require_ranks(destination, communicator);
    require_ranks(source, communicator);
    static_cast<void>(combine.function(element));
    outgoing = outgoing_of(communicator, destination, source, subscripts, mask, combine.replaces());
  });
  Lists incoming = exchange_lists(communicator, std::move(outgoing.targets));
  if (combine.replaces())
    drop_losers(communicator, destination.local_size(communicator.rank()), outgoing, incoming);
  // Both sides know the same counts, so the schedule has nothing left to check.
  options.checks = Checks::kOff;
  WordSchedule schedule(communicator, element, options);
  for (int peer = 0; peer < communicator.size(); ++peer) {
    schedule.add_send(peer, outgoing.sources[static_cast<std::size_t>(peer)]);
    schedule.add_receive(peer, incoming[static_cast<std::size_t>(peer)]);
  }
  schedule.build();
  return schedule;
}

}  // namespace

ScatterPlan::ScatterPlan(MPI_Comm comm, const Distribution& destination, const Distribution& source,
                         const Subscripts& subscripts, Element element, const Combiner& combine,
                         Mask mask, ScheduleOptions options)
    : schedule_(plan(Communicator(comm), destination, source, subscripts, element, combine, mask,
                     options)),
      combine_(combine) {}

void scatter(MPI_Comm comm, const Distribution& destination, void* destination_data,
             const Distribution& source, const void* source_data, const Subscripts& subscripts,
             Element element, const Combiner& combine, Mask mask) {
  ScatterPlan(comm, destination, source, subscripts, element, combine, mask)
      .execute(source_data, destination_data);
}

}  // namespace impishim::darray
