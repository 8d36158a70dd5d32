// SPDX-License-Identifier: Apache-2.0
/// Gather by subscripts (Adlib's Gather): destination[i...] = source[s0[i...], s1[i...], ...].
#pragma once

#include <span>
#include <vector>

#include "darray/index/distribution.hpp"
#include "darray/schedule/lookup_schedule.hpp"

namespace impishim::darray {

/// Indices into an array of any distribution: one list for each of its axes. The lists are aligned
/// with another array. On every rank, list[k] belongs to the k-th element that the rank owns of
/// that array, in row-major order, without ghosts. Indices are global (labels for unstructured
/// axes); negative ones do not count from the end.
using Subscripts = std::vector<std::span<const Index>>;

/// Selects the elements that take part: one value for each owned element, as with subscripts. An
/// empty mask selects all elements.
using Mask = std::span<const bool>;

/// A gather that is planned once and executed many times. Buffers are local buffers of the
/// distributions, row-major with ghosts (Distribution::local_shape()).
///
/// The nearest copy of a replicated source is read: the rank's own copy, else one in its system,
/// else the primary one. If a label has several owners, the rank's own element is read, else the
/// one of the lowest part. Each copy of a replicated destination gathers its own elements.
class GatherPlan {
 public:
  /// Collective over `comm`. The subscripts are aligned with the destination, one list for each
  /// axis of the source, and are not used after construction. Elements whose mask is false do not
  /// change.
  ///
  /// Throws Error(kShape) if the number of lists, subscripts or mask values is wrong. Throws
  /// Error(kKey), with axis, position and value, if a subscript is outside of its axis or no rank
  /// has the label. Throws Error(kLayout) if a distribution has ranks that `comm` does not have.
  /// With checks, all ranks throw the same error.
  GatherPlan(MPI_Comm comm, const Distribution& destination, const Distribution& source,
             const Subscripts& subscripts, Element element, Mask mask = {},
             ScheduleOptions options = {});
  /// Gathers elements that only a directory knows: labels[k] becomes the k-th owned element of the
  /// destination. The directory's offsets count elements in the source buffers. Throws
  /// Error(kShape), Error(kKey) or Error(kLayout) as the constructor above.
  GatherPlan(MPI_Comm comm, const Distribution& destination, const Directory& source,
             std::span<const Index> labels, Element element, Mask mask = {},
             ScheduleOptions options = {});

  /// Executes the gather. Throws the errors of Schedule::execute().
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

/// Plans and executes one gather. Collective.
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
