// Gather by subscripts (Adlib's Gather): destination[i...] = source[s0[i...], s1[i...], ...].
#pragma once

#include <span>
#include <vector>

#include "darray/index/distribution.hpp"
#include "darray/schedule/lookup_schedule.hpp"

namespace impishim::darray {

/// Indices into an array of any distribution: one list for each of its axes. The lists are aligned
/// with another array: on every rank, list[k] belongs to the k-th element that the rank owns of it,
/// in row-major order, without ghosts. Indices (labels of unstructured axes) are global, and do not
/// count from the end when negative.
using Subscripts = std::vector<std::span<const Index>>;

/// Which elements take part: one value for each owned element, as with subscripts. No values: all
/// of them.
using Mask = std::span<const bool>;

/// A gather that is planned once and run many times. Buffers are local buffers of the
/// distributions, row-major with ghosts (Distribution::local_shape()). Of a source that is
/// replicated the nearest copy is read: the rank's own, else one of its system, else the primary
/// one; of a label with several owners the rank's own, else that of the lowest part. Each copy of a
/// replicated destination gathers for itself.
class GatherPlan {
 public:
  /// Collective over `comm`; the subscripts are aligned with the destination, one list for each
  /// axis of the source, and are not used after construction. Elements whose mask is false are left
  /// as they are. Errors: kShape for other numbers of lists, subscripts or mask values; kKey, with
  /// axis, position and value, for a subscript outside of its axis or a label that nobody has;
  /// kLayout for a distribution with ranks that `comm` does not have (with checks, the same on all
  /// ranks).
  GatherPlan(MPI_Comm comm, const Distribution& destination, const Distribution& source,
             const Subscripts& subscripts, Element element, Mask mask = {},
             ScheduleOptions options = {});
  /// From elements that only a directory knows: labels[k] is wanted as the k-th owned element of
  /// the destination. The offsets that the directory was given count in the source buffers. Errors:
  /// kShape, kKey, kLayout as above.
  GatherPlan(MPI_Comm comm, const Distribution& destination, const Directory& source,
             std::span<const Index> labels, Element element, Mask mask = {},
             ScheduleOptions options = {});

  /// Errors: those of Schedule.
  void execute(const void* source, void* destination) { schedule_.execute(source, destination); }
  void execute(std::span<const void* const> sources, std::span<void* const> destinations) {
    schedule_.execute(sources, destinations);
  }
  void start(const void* source, void* destination) { schedule_.start(source, destination); }
  bool test() { return schedule_.test(); }
  void wait() { schedule_.wait(); }

  const Statistics& statistics() const { return schedule_.statistics(); }

 private:
  WordSchedule schedule_;
};

/// The same once. Collective.
void gather(MPI_Comm comm, const Distribution& destination, void* destination_data,
            const Distribution& source, const void* source_data, const Subscripts& subscripts,
            Element element, Mask mask = {});

template <class T>
void gather(MPI_Comm comm, const Distribution& destination, T* destination_data,
            const Distribution& source, const T* source_data, const Subscripts& subscripts,
            Mask mask = {}) {
  gather(comm, destination, static_cast<void*>(destination_data), source,
         static_cast<const void*>(source_data), subscripts, element_of<T>(), mask);
}

}  // namespace impishim::darray
