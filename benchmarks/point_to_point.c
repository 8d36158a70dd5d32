// SPDX-License-Identifier: Apache-2.0
/* Two ranks measure each other, 0 and 1 or those that a fourth argument names, as 1,3; all others
 * wait, asleep outside MPI. Plain MPI: built for every MPI library alike. */
#include <mpi.h>

#include "benchmarks/measure.h"
#include "benchmarks/mpi_pair.h"

enum { kArguments = 4 };

static const struct mpi_calls calls = THE_PROGRAMS_CALLS;
static struct mpi_side side;

static size_t bytes_of(size_t size) { return size; }
static void tell(long rounds) { mpi_tell(side, rounds); }
static long hear(void) { return mpi_hear(side); }

static void ping_pong(char* out, char* in, size_t bytes, long rounds) {
  mpi_ping_pong(&calls, side, out, in, bytes, rounds);
}

static void stream(char* memory, size_t bytes, int window, long rounds) {
  mpi_stream(&calls, side, memory, bytes, window, rounds);
}

int main(int argc, char** argv) {
  struct mpi_pair pair;
  MPI_Init(&argc, &argv);
  const int named = argc == kArguments + 1;
  if (enter_pair(named ? argv[kArguments] : NULL, &pair)) {
    side = pair.side;
    const struct contestant contestant = {side.leads, bytes_of, tell, hear, ping_pong, stream};
    if (measure(&contestant, named ? kArguments : argc, argv) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
    leave_pair(&pair);
  }
  MPI_Finalize();
  return 0;
}
