// SPDX-License-Identifier: Apache-2.0
/// Scatter by subscripts (Adlib's Scatter), with or without an operator: destination[s0[i...],
/// s1[i...], ...] = source[i...].
#pragma once

#include "darray/plan/gather/gather.hpp"

namespace impishim::darray {

/// A scatter that is planned once and executed many times. Buffers are local buffers of the
/// distributions, row-major with ghosts. Several source elements may have the same destination:
/// - Without an operator, the one with the highest global index stays (row-major order of the index
///   tuples, labels by value). The others are found at construction and never sent.
/// - With an operator, all are combined with the destination element: in the order of the senders'
///   ranks, and for each sender in row-major order of its piece.
/// All copies of a replicated destination, and all owners of a label, receive. The primary copy of
/// a replicated source is used.
class ScatterPlan {
 public:
  /// Collective over `comm`. The subscripts are aligned with the source, one list for each axis of
  /// the destination, and are not used after construction. Elements whose mask is false take no
  /// part. Throws the errors of GatherPlan, and Error(kType) if the elements do not have the
  /// operator.
  ScatterPlan(MPI_Comm comm, const Distribution& destination, const Distribution& source,
              const Subscripts& subscripts, Element element, const Combiner& combine = {},
              Mask mask = {}, ScheduleOptions options = {});

  /// Executes the scatter. Throws the errors of Schedule::execute().
  void execute(const void* source, void* destination) {
    schedule_.execute(source, destination, combine_);
  }
  void execute(std::span<const void* const> sources, std::span<void* const> destinations) {
    schedule_.execute(sources, destinations, combine_);
  }
  void start(const void* source, void* destination) {
    schedule_.start(source, destination, combine_);
  }
  bool test() { return schedule_.test(); }
  void wait() { schedule_.wait(); }

  const Statistics& statistics() const { return schedule_.statistics(); }

 private:
  WordSchedule schedule_;
  Combiner combine_;
};

/// Plans and executes one scatter. Collective.
void scatter(MPI_Comm comm, const Distribution& destination, void* destination_data,
             const Distribution& source, const void* source_data, const Subscripts& subscripts,
             Element element, const Combiner& combine = {}, Mask mask = {});

template <class T>
void scatter(MPI_Comm comm, const Distribution& destination, T* destination_data,
             const Distribution& source, const T* source_data, const Subscripts& subscripts,
             const Combiner& combine = {}, Mask mask = {}) {
  scatter(comm, destination, static_cast<void*>(destination_data), source,
          static_cast<const void*>(source_data), subscripts, element_of<T>(), combine, mask);
}

}  // namespace impishim::darray
