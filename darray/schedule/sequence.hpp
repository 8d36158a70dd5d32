// Collectives and local work one after the other, blocking or in the background. Not for users.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <functional>
#include <vector>

#include "darray/schedule/communicator.hpp"
#include "darray/schedule/element.hpp"

namespace impishim::darray {

/// Steps that are run in order. A step begins an operation, whose request may stay MPI_REQUEST_NULL when it is over at once; or
/// it is something that is started, tested and waited for.
class Sequence {
 public:
  using Step = std::function<void(bool blocking, MPI_Request& request)>;

  void add(Step begin) { steps_.push_back({std::move(begin), {}}); }
  void add_local(std::function<void()> work) {
    steps_.push_back({[work = std::move(work)](bool, MPI_Request&) { work(); }, {}});
  }
  /// `start` begins, `advance(blocking)` goes on and says whether it is over.
  void add_nested(std::function<void()> start, std::function<bool(bool)> advance) {
    steps_.push_back({[start = std::move(start)](bool, MPI_Request&) { start(); }, std::move(advance)});
  }

  /// Runs all steps; blocking operations are used, which are faster than nonblocking ones.
  void run();
  /// Begins; test() and wait() go on. Errors: kArgument when it is under way.
  void start();
  bool test() { return advance(false); }
  void wait() { advance(true); }

 private:
  struct Entry {
    Step begin;
    std::function<bool(bool)> advance;
  };
  bool advance(bool blocking);

  std::vector<Entry> steps_;
  std::size_t next_ = 0;
  bool active_ = false;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

// Collectives of `count` elements for each rank, blocking or begun.
void broadcast_step(bool blocking, MPI_Request& request, const Communicator& group, const Element& element, void* data,
                    Index count, int root);
void gather_step(bool blocking, MPI_Request& request, const Communicator& group, const Element& element, const void* mine,
                 void* all, Index count, int root);
void all_gather_step(bool blocking, MPI_Request& request, const Communicator& group, const Element& element, const void* mine,
                     void* all, Index count);
void all_to_all_step(bool blocking, MPI_Request& request, const Communicator& group, const Element& element, const void* sent,
                     void* received, Index count);

}  // namespace impishim::darray
