// Scatter by subscripts (Adlib's Scatter), also combining: destination[s0[i...], s1[i...], ...] =
// source[i...].
#pragma once

#include "darray/plan/gather/gather.hpp"

namespace impishim::darray {

/// A scatter that is planned once and run many times. Buffers are local buffers of the
/// distributions, row-major with ghosts. Where several source elements meet at one place:
/// - without an operator the one with the highest global index stays (row-major order of the index
/// tuples, labels by value).
///   The others are found at construction and never sent.
/// - with one, all are combined with what is there, by rank of the sender, on each in row-major
/// order of its piece. All copies of a replicated destination, and all owners of a label, receive.
/// Of a replicated source the primary copy counts.
class ScatterPlan {
 public:
  /// Collective over `comm`; the subscripts are aligned with the source, one list for each axis of
  /// the destination, and are not used after construction. Elements whose mask is false take no
  /// part. Errors: as GatherPlan; kType for an operator that the elements do not have.
  ScatterPlan(MPI_Comm comm, const Distribution& destination, const Distribution& source,
              const Subscripts& subscripts, Element element, const Combiner& combine = {},
              Mask mask = {}, ScheduleOptions options = {});

  /// Errors: those of Schedule.
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

/// The same once. Collective.
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
