// SPDX-License-Identifier: Apache-2.0
// A program in ULFM's style: it iterates over a communicator; when a system dies its members revoke
// the communicator, shrink it, agree, and go on.
//
// Usage: shrinking PLAN. Each letter of PLAN stands for a system: `-` lives, `w` dies while it
// works, `r` when it has revoked, `s` when it has shrunk, before the agreement, `n` when it has
// found an error, before it revokes.
#include "impishim/ulfm.h"

#include <mpi.h>

#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

namespace {

constexpr int kIterations = 40;
constexpr int kFirstDeath = 10;

struct Self {
  int rank = 0;
  char fate = '-';
};

void die_if(const Self& self, char when) {
  if (self.fate == when) raise(SIGKILL);
}

/// One step of work. Every second one has messages in a ring, so that some processes wait for ones
/// that wait for nothing of the lost system.
int work(MPI_Comm comm, int iteration, long& sum) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  long mine = iteration;
  if (iteration % 2 == 0) {
    long from = 0;
    const int code = MPI_Sendrecv(&mine, 1, MPI_LONG, (rank + 1) % size, 1, &from, 1, MPI_LONG,
                                  (rank + size - 1) % size, 1, comm, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS) sum = from * size;
    return code;
  }
  return MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, comm);
}

/// Replaces a communicator by one of its survivors. Returns false if another system was lost
/// meanwhile.
bool repair(MPI_Comm& comm, const Self& self, int code) {
  int error_class = 0;
  impishim_error_class(code, &error_class);
  if (error_class != MPIX_ERR_PROC_FAILED && error_class != MPIX_ERR_REVOKED) {
    std::printf("shrinking: rank %d: class %d\n", self.rank, error_class);
    std::fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  die_if(self, 'n');
  MPIX_Comm_revoke(comm);
  int revoked = 0;
  MPIX_Comm_is_revoked(comm, &revoked);
  die_if(self, 'r');
  MPI_Comm smaller = MPI_COMM_NULL;
  if (revoked == 0 || MPIX_Comm_shrink(comm, &smaller) != MPI_SUCCESS) {
    std::printf("shrinking: rank %d cannot shrink\n", self.rank);
    std::fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 4);
  }
  MPI_Comm_free(&comm);
  comm = smaller;
  die_if(self, 's');
  int flag = 1 << self.rank | 1 << 30;
  const int agreed = MPIX_Comm_agree(comm, &flag);
  return agreed == MPI_SUCCESS && flag == 1 << 30;
}

/// All members take part in each iteration, also those that completed the failed one.
int least_iteration(MPI_Comm comm, int iteration, int& least) {
  return MPI_Allreduce(&iteration, &least, 1, MPI_INT, MPI_MIN, comm);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  Self self;
  MPI_Comm_rank(MPI_COMM_WORLD, &self.rank);
  int* system = nullptr;
  int found = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, static_cast<void*>(&system), &found);
  const std::string plan = argc > 1 ? argv[1] : "-w-";
  self.fate = plan.at(static_cast<std::size_t>(*system));
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  int iteration = 0;
  int repairs = 0;
  bool whole = true;
  while (iteration < kIterations) {
    long sum = 0;
    if (iteration == kFirstDeath) die_if(self, 'w');
    int code = whole ? work(comm, iteration, sum) : MPI_SUCCESS;
    int size = 0;
    MPI_Comm_size(comm, &size);
    if (whole && code == MPI_SUCCESS) {
      if (sum != static_cast<long>(iteration) * size) MPI_Abort(MPI_COMM_WORLD, 5);
      ++iteration;
      continue;
    }
    for (;;) {
      ++repairs;
      // A further loss during the repair: the next one is for it, and its code is that of a loss.
      whole = repair(comm, self, whole ? code : MPIX_ERR_PROC_FAILED);
      if (!whole) continue;
      code = least_iteration(comm, iteration, iteration);
      if (code == MPI_SUCCESS) break;
    }
  }
  int size = 0;
  MPI_Comm_size(comm, &size);
  std::printf("shrinking: rank %d ends with %d of %d\n", self.rank, size,
              static_cast<int>(plan.size()));
  std::fflush(stdout);
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return repairs > 0 ? 0 : 6;
}
