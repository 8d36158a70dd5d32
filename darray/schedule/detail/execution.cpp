// SPDX-License-Identifier: Apache-2.0
#include "darray/schedule/detail/execution.hpp"

#include <limits>

namespace impishim::darray {
namespace {

int values(const Element& element, Index count) {
  if (count > std::numeric_limits<int>::max() / element.items) {
    fail(ErrorKind::kUnsupported,
         "a collective of {} elements of {} bytes has more values than an int counts", count,
         element.size);
  }
  return static_cast<int>(count) * element.items;
}

}  // namespace

/// Runs `body`, which is a step or its continuation. A failure of local work or of a part is kept,
/// and the steps after it are still run. An MPI error of a single operation is thrown at once,
/// because the steps after it cannot run.
void Execution::attempt(const Entry& step, const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    if (!step.goes_on_after(error)) throw;
    failure_.guard([] { throw; });
  } catch (...) {
    if (!step.local) throw;
    failure_.guard([] { throw; });
  }
}

void Execution::run(const Work& first) {
  require_idle();
  failure_ = {};
  if (first) failure_.guard(first);
  for (const Entry& step : steps_) {
    attempt(step, [&step] {
      MPI_Request request = MPI_REQUEST_NULL;
      step.begin(true, request);
      if (step.advance) step.advance(true);
    });
  }
  failure_.rethrow();
}

void Execution::start(const Work& first) {
  require_idle();
  turn_.start([this](bool blocking) { return advance_steps(blocking); });
  next_ = 0;
  failure_ = {};
  request_ = MPI_REQUEST_NULL;
  if (first) failure_.guard(first);
  turn_.push();
}

bool Execution::step_is_over(bool blocking) {
  int done = 1;
  if (blocking) {
    check_mpi(MPI_Wait(&request_, MPI_STATUS_IGNORE), "MPI_Wait");
  } else {
    check_mpi(MPI_Test(&request_, &done, MPI_STATUS_IGNORE), "MPI_Test");
  }
  if (done == 0 || next_ == 0 || !steps_[next_ - 1].advance) return done != 0;
  bool over = true;
  attempt(steps_[next_ - 1], [&] { over = steps_[next_ - 1].advance(blocking); });
  return over;
}

bool Execution::advance_steps(bool blocking) {
  while (step_is_over(blocking)) {
    if (next_ == steps_.size()) {
      failure_.rethrow();
      return true;
    }
    const Entry& step = steps_[next_++];
    attempt(step, [&] { step.begin(false, request_); });
  }
  return false;
}

void broadcast_step(bool blocking, MPI_Request& request, const Communicator& group,
                    const Element& element, void* data, Index count, int root) {
  const int n = values(element, count);
  if (blocking) {
    check_mpi(MPI_Bcast(data, n, element.type, root, group.get()), "MPI_Bcast");
  } else {
    check_mpi(MPI_Ibcast(data, n, element.type, root, group.background(), &request), "MPI_Ibcast");
  }
}

void gather_step(bool blocking, MPI_Request& request, const Communicator& group,
                 const Element& element, const void* mine, void* all, Index count, int root) {
  const int n = values(element, count);
  if (blocking) {
    check_mpi(MPI_Gather(mine, n, element.type, all, n, element.type, root, group.get()),
              "MPI_Gather");
  } else {
    check_mpi(MPI_Igather(mine, n, element.type, all, n, element.type, root, group.background(),
                          &request),
              "MPI_Igather");
  }
}

void all_gather_step(bool blocking, MPI_Request& request, const Communicator& group,
                     const Element& element, const void* mine, void* all, Index count) {
  const int n = values(element, count);
  if (blocking) {
    check_mpi(MPI_Allgather(mine, n, element.type, all, n, element.type, group.get()),
              "MPI_Allgather");
  } else {
    check_mpi(
        MPI_Iallgather(mine, n, element.type, all, n, element.type, group.background(), &request),
        "MPI_Iallgather");
  }
}

void all_to_all_step(bool blocking, MPI_Request& request, const Communicator& group,
                     const Element& element, const void* sent, void* received, Index count) {
  const int n = values(element, count);
  if (blocking) {
    check_mpi(MPI_Alltoall(sent, n, element.type, received, n, element.type, group.get()),
              "MPI_Alltoall");
  } else {
    check_mpi(MPI_Ialltoall(sent, n, element.type, received, n, element.type, group.background(),
                            &request),
              "MPI_Ialltoall");
  }
}

}  // namespace impishim::darray
