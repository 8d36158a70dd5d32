// SPDX-License-Identifier: Apache-2.0
/* What the library costs two ranks beside something else that the same two processes do, turn by
 * turn: with "vendor" beside the vendor's own functions, called directly; with "tcp" beside a TCP
 * connection of their own and the same bytes. Two launches of one program differ by more than is to
 * be measured here, since where its memory comes to lie and what the machine's neighbours do is
 * another each time; within a pair of turns it is the same for both. Arguments: vendor or tcp;
 * microseconds per turn; pairs of turns; who measures, as 1,3, if not 0 and 1. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

#include "benchmarks/measure.h"
#include "benchmarks/mpi_pair.h"
#include "benchmarks/raw_stream.h"

enum { kArguments = 4, kSize = 8 };

static const struct mpi_calls own_calls = THE_PROGRAMS_CALLS;
static struct mpi_side side;

static struct mpi_calls vendor_calls;
static struct mpi_side vendor_side;
static int connection = -1;

static size_t bytes_of(size_t size) { return size; }
static void tell(long rounds) { mpi_tell(side, rounds); }
static long hear(void) { return mpi_hear(side); }

static void own_ping_pong(char* out, char* in, size_t bytes, long rounds) {
  mpi_ping_pong(&own_calls, side, out, in, bytes, rounds);
}

static void own_stream(char* memory, size_t bytes, int window, long rounds) {
  mpi_stream(&own_calls, side, memory, bytes, window, rounds);
}

static void vendor_ping_pong(char* out, char* in, size_t bytes, long rounds) {
  mpi_ping_pong(&vendor_calls, vendor_side, out, in, bytes, rounds);
}

static void vendor_stream(char* memory, size_t bytes, int window, long rounds) {
  mpi_stream(&vendor_calls, vendor_side, memory, bytes, window, rounds);
}

static void tcp_ping_pong(char* out, char* in, size_t bytes, long rounds) {
  raw_ping_pong(connection, side.leads, out, in, bytes, rounds);
}

static void fail(const char* text, const char* detail) {
  fprintf(stderr, "in_turns: %s%s\n", text, detail);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void* vendors(void* library, const char* name) {
  void* found = dlsym(library, name);
  if (found == NULL) fail("the MPI library has no ", name);
  return found;
}

/* Past every library in between. */
static void find_vendor(void) {
  int mine = 0;
  void* library = dlopen(VENDOR_SONAME, RTLD_NOLOAD | RTLD_LAZY);
  if (library == NULL) fail("not loaded: ", VENDOR_SONAME);
  *(void**)&vendor_calls.send = vendors(library, "PMPI_Send");
  *(void**)&vendor_calls.recv = vendors(library, "PMPI_Recv");
  *(void**)&vendor_calls.isend = vendors(library, "PMPI_Isend");
  *(void**)&vendor_calls.irecv = vendors(library, "PMPI_Irecv");
  *(void**)&vendor_calls.waitall = vendors(library, "PMPI_Waitall");
  int (*comm_rank)(MPI_Comm, int*) = NULL;
  *(void**)&comm_rank = vendors(library, "PMPI_Comm_rank");
  void* const own_send = dlsym(RTLD_DEFAULT, "MPI_Send");
  if (own_send == vendors(library, "MPI_Send"))
    fail("nothing to measure: MPI_Send is the vendor's, no library lies before ", VENDOR_SONAME);
  comm_rank(MPI_COMM_WORLD, &mine);
  vendor_side.leads = side.leads;
  MPI_Sendrecv(&mine, 1, MPI_INT, side.peer, kPairRounds, &vendor_side.peer, 1, MPI_INT, side.peer,
               kPairRounds, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void connect_sides(void) {
  struct sockaddr_in address;
  if (side.leads) {
    const int listener = raw_listen(&address);
    MPI_Send(&address, sizeof(address), MPI_BYTE, side.peer, kPairRounds, MPI_COMM_WORLD);
    connection = accept(listener, NULL, NULL);
    close(listener);
  } else {
    MPI_Recv(&address, sizeof(address), MPI_BYTE, side.peer, kPairRounds, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    connection = raw_connect(&address);
  }
  raw_prepare(connection);
}

static struct contestant other_contestant(const char* what) {
  struct contestant other = {side.leads, bytes_of, tell, hear, vendor_ping_pong, vendor_stream};
  if (strcmp(what, "vendor") == 0) {
    find_vendor();
  } else if (strcmp(what, "tcp") == 0) {
    connect_sides();
    other.bytes_of = raw_bytes_of;
    other.ping_pong = tcp_ping_pong;
    other.stream = NULL;
  } else {
    fail("neither vendor nor tcp: ", what);
  }
  return other;
}

static void measure_pair(char** argv) {
  const struct contestant own = {side.leads, bytes_of, tell, hear, own_ping_pong, own_stream};
  const struct contestant other = other_contestant(argv[1]);
  if (measure_in_turns(&own, &other, kSize, strtod(argv[2], NULL), atoi(argv[3])) != 0)
    MPI_Abort(MPI_COMM_WORLD, 1);
  if (connection >= 0) close(connection);
}

int main(int argc, char** argv) {
  struct mpi_pair pair;
  MPI_Init(&argc, &argv);
  const int named = argc == kArguments + 1;
  if (argc != kArguments && !named)
    fail("usage: in_turns vendor|tcp MICROSECONDS_PER_TURN PAIRS [LEADER,FOLLOWER]", "");
  if (enter_pair(named ? argv[kArguments] : NULL, &pair)) {
    side = pair.side;
    measure_pair(argv);
    leave_pair(&pair);
  }
  MPI_Finalize();
  return 0;
}
