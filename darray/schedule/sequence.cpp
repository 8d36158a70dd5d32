#include "darray/schedule/sequence.hpp"

#include <limits>

namespace impishim::darray {
namespace {

int values(const Element& element, Index count) {
  if (count > std::numeric_limits<int>::max() / element.items) {
    fail(ErrorKind::kUnsupported, "a collective of {} elements of {} bytes has more values than an int counts", count,
         element.size);
  }
  return static_cast<int>(count) * element.items;
}

}  // namespace

void Sequence::run() {
  if (active_) fail(ErrorKind::kArgument, "an execution of this schedule is under way: wait for it first");
  for (const Entry& step : steps_) {
    MPI_Request request = MPI_REQUEST_NULL;
    step.begin(true, request);
    if (step.advance) step.advance(true);
  }
}

void Sequence::start() {
  if (active_) fail(ErrorKind::kArgument, "an execution of this schedule is under way: wait for it first");
  active_ = true;
  next_ = 0;
  advance(false);
}

bool Sequence::advance(bool blocking) {
  while (active_) {
    int done = 1;
    if (blocking) {
      check_mpi(MPI_Wait(&request_, MPI_STATUS_IGNORE), "MPI_Wait");
    } else {
      check_mpi(MPI_Test(&request_, &done, MPI_STATUS_IGNORE), "MPI_Test");
    }
    if (done == 0) return false;
    if (next_ > 0 && steps_[next_ - 1].advance && !steps_[next_ - 1].advance(blocking)) return false;
    if (next_ == steps_.size()) {
      active_ = false;
    } else {
      steps_[next_++].begin(false, request_);
    }
  }
  return true;
}

void broadcast_step(bool blocking, MPI_Request& request, const Communicator& group, const Element& element, void* data,
                    Index count, int root) {
  const int n = values(element, count);
  if (blocking) {
    check_mpi(MPI_Bcast(data, n, element.type, root, group.get()), "MPI_Bcast");
  } else {
    check_mpi(MPI_Ibcast(data, n, element.type, root, group.get(), &request), "MPI_Ibcast");
  }
}

void gather_step(bool blocking, MPI_Request& request, const Communicator& group, const Element& element, const void* mine,
                 void* all, Index count, int root) {
  const int n = values(element, count);
  if (blocking) {
    check_mpi(MPI_Gather(mine, n, element.type, all, n, element.type, root, group.get()), "MPI_Gather");
  } else {
    check_mpi(MPI_Igather(mine, n, element.type, all, n, element.type, root, group.get(), &request), "MPI_Igather");
  }
}

void all_gather_step(bool blocking, MPI_Request& request, const Communicator& group, const Element& element, const void* mine,
                     void* all, Index count) {
  const int n = values(element, count);
  if (blocking) {
    check_mpi(MPI_Allgather(mine, n, element.type, all, n, element.type, group.get()), "MPI_Allgather");
  } else {
    check_mpi(MPI_Iallgather(mine, n, element.type, all, n, element.type, group.get(), &request), "MPI_Iallgather");
  }
}

void all_to_all_step(bool blocking, MPI_Request& request, const Communicator& group, const Element& element, const void* sent,
                     void* received, Index count) {
  const int n = values(element, count);
  if (blocking) {
    check_mpi(MPI_Alltoall(sent, n, element.type, received, n, element.type, group.get()), "MPI_Alltoall");
  } else {
    check_mpi(MPI_Ialltoall(sent, n, element.type, received, n, element.type, group.get(), &request), "MPI_Ialltoall");
  }
}

}  // namespace impishim::darray
