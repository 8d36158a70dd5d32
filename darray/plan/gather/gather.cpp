// SPDX-License-Identifier: Apache-2.0
#include "darray/plan/gather/gather.hpp"

#include "darray/plan/core/detail/owned_part.hpp"
#include "darray/plan/gather/detail/locator.hpp"

namespace impishim::darray {
namespace {

// Returns the offsets of the active elements in the buffer of the array that the subscripts are
// aligned with. Returns an empty list if the k-th element lies at offset k.
std::vector<Index> places_of(const ActiveSubscripts& subscripts, const OwnedPart& part) {
  const bool all = subscripts.count() == part.size;
  if (all && part.offset == 0 && part.patch().is_contiguous()) return {};
  std::vector<Index> places = part.offsets();
  if (all) return places;
  for (Index k = 0; k < subscripts.count(); ++k) {
    places[static_cast<std::size_t>(k)] = places[static_cast<std::size_t>(subscripts.element(k))];
  }
  places.resize(static_cast<std::size_t>(subscripts.count()));
  return places;
}

WordSchedule plan(const Communicator& communicator, const Distribution& destination,
                  const Distribution& source, const Subscripts& subscripts, const Element& element,
                  Mask mask, const ScheduleOptions& options) {
  std::vector<Location> wanted;
  std::vector<Index> places;
  const auto call = [&] {
    CollectiveCall given("gather");
    given.with("destination", destination).with("source", source).with("element", element);
    return given.with("chunk_bytes", options.chunk_bytes);
  };
  agreed(communicator, options.checks, call, [&] {
    require_ranks(destination, communicator);
    require_ranks(source, communicator);
    const OwnedPart part = owned_part(destination, communicator.rank());
    const ActiveSubscripts active(subscripts, mask, source.dimensions(), part.size);
    wanted = Locator(communicator, source).nearest(active);
    places = places_of(active, part);
  });
  return lookup_schedule(communicator, element, wanted, places, options);
}

WordSchedule plan(const Communicator& communicator, const Distribution& destination,
                  const Directory& source, std::span<const Index> labels, const Element& element,
                  Mask mask, const ScheduleOptions& options) {
  std::vector<Index> places;
  std::vector<Index> names;
  const auto choose = [&] {
    require_ranks(destination, communicator);
    const OwnedPart part = owned_part(destination, communicator.rank());
    const ActiveSubscripts active({labels}, mask, 1, part.size);
    names.assign(active.axis(0).begin(), active.axis(0).end());
    places = places_of(active, part);
  };
  const auto call = [&] {
    CollectiveCall given("gather by labels");
    return given.with("destination", destination)
        .with("element", element)
        .with("chunk_bytes", options.chunk_bytes);
  };
  agreed(communicator, options.checks, call, choose);
  const std::vector<Location> wanted = source.find(names, Checks::kOff);
  agreed(communicator, options.checks, "gather by labels", [&] {
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      if (wanted[k].rank == Location::kNowhere)
        fail(ErrorKind::kKey, "no part has label {}", names[k]);
    }
  });
  return lookup_schedule(communicator, element, wanted, places, options);
}

}  // namespace

GatherPlan::GatherPlan(MPI_Comm comm, const Distribution& destination, const Distribution& source,
                       const Subscripts& subscripts, Element element, Mask mask,
                       ScheduleOptions options)
    : schedule_(plan(Communicator(comm), destination, source, subscripts, element, mask, options)) {
}

GatherPlan::GatherPlan(MPI_Comm comm, const Distribution& destination, const Directory& source,
                       std::span<const Index> labels, Element element, Mask mask,
                       ScheduleOptions options)
    : schedule_(plan(Communicator(comm), destination, source, labels, element, mask, options)) {}

void gather(MPI_Comm comm, const Distribution& destination, void* destination_data,
            const Distribution& source, const void* source_data, const Subscripts& subscripts,
            Element element, Mask mask) {
  GatherPlan(comm, destination, source, subscripts, element, mask)
      .execute(source_data, destination_data);
}

}  // namespace impishim::darray
