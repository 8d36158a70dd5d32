// SPDX-License-Identifier: Apache-2.0
/* The first half of the ranks sends to the second half, rank r to rank r + n/2, over a road that is
 * long and thin. long_road BYTES ROUNDS [doubles]: prints
 *   one B          bytes per second of one message of BYTES from rank 0
 *   eight B        of eight messages of BYTES / 8 from rank 0 at once
 *   alone S        seconds of half a round trip of 8 B between the last pair, with nothing beside
 *   beside S       the same while rank 0 sends messages of BYTES
 * each the median of ROUNDS. Needs four ranks; plain MPI. With "doubles" the messages hold numbers
 * with 32 random bits each, as programs have them, and otherwise one byte again and again. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMostRounds = 99, kEight = 8, kShort = 8, kBulkTag = 100, kStopTag = 101 };

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a;
  const double y = *(const double*)b;
  return (x > y) - (x < y);
}

static double median(double* values, int count) {
  qsort(values, (size_t)count, sizeof(double), ascending);
  return values[count / 2];
}

/* One round: `parts` messages at once, and an answer when all have come. */
static double send_parts(char* memory, int bytes, int parts, int leads, int peer) {
  MPI_Request requests[kEight];
  MPI_Status statuses[kEight];
  const double begin = MPI_Wtime();
  for (int i = 0; i < parts; ++i) {
    char* const part = memory + (size_t)i * (size_t)bytes;
    if (leads) {
      MPI_Isend(part, bytes, MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[i]);
    } else {
      MPI_Irecv(part, bytes, MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[i]);
    }
  }
  MPI_Waitall(parts, requests, statuses);
  if (leads) {
    MPI_Recv(NULL, 0, MPI_BYTE, peer, kStopTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Send(NULL, 0, MPI_BYTE, peer, kStopTag, MPI_COMM_WORLD);
  }
  return MPI_Wtime() - begin;
}

static double half_round_trip(int leads, int peer) {
  char word[kShort] = {0};
  const double begin = MPI_Wtime();
  if (leads) {
    MPI_Send(word, kShort, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
    MPI_Recv(word, kShort, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(word, kShort, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(word, kShort, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
  }
  return (MPI_Wtime() - begin) / 2;
}

/* Fills memory with numbers from 1 to 2 whose last 20 bits are zero: zstd -1 leaves 0.74 of them.
 */
static void fill_with_doubles(char* memory, size_t bytes) {
  const double steps = 4294967296.0; /* 2^32 */
  const unsigned unused_bits = 32;
  uint64_t state = 88172645463325252ULL; /* xorshift64 */
  for (size_t at = 0; at + sizeof(double) <= bytes; at += sizeof(double)) {
    state ^= state << 13U;
    state ^= state >> 7U;
    state ^= state << 17U;
    const double number = 1.0 + (double)(state >> unused_bits) / steps;
    memcpy(memory + at, &number, sizeof number);
  }
}

int main(int argc, char** argv) {
  int rank = 0;
  int size = 0;
  double times[kMostRounds];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int bytes = argc >= 3 ? atoi(argv[1]) : 0;
  const int rounds = argc >= 3 ? atoi(argv[2]) : 0;
  if (size != 4 || bytes < kEight || rounds < 1 || rounds > kMostRounds) {
    fprintf(stderr, "long_road BYTES ROUNDS [doubles], on four ranks\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  const int leads = rank < size / 2;
  const int peer = leads ? rank + size / 2 : rank - size / 2;
  const int carries = rank % (size / 2) == 0; /* of the pair with the long messages */
  char* const memory = malloc((size_t)bytes);
  memset(memory, rank, (size_t)bytes);
  if (argc == 4 && strcmp(argv[3], "doubles") == 0) fill_with_doubles(memory, (size_t)bytes);
  for (int parts = 1; parts <= kEight; parts += kEight - 1) {
    for (int round = 0; round < rounds && carries; ++round)
      times[round] = send_parts(memory, bytes / parts, parts, leads, peer);
    if (rank == 0)
      printf("%s %.0f\n", parts == 1 ? "one" : "eight",
             (double)(bytes / parts) * parts / median(times, rounds));
    MPI_Barrier(MPI_COMM_WORLD);
  }
  for (int round = 0; round < rounds && !carries; ++round)
    times[round] = half_round_trip(leads, peer);
  if (rank == 1) printf("alone %.9f\n", median(times, rounds));
  MPI_Barrier(MPI_COMM_WORLD);
  if (carries) {
    for (int round = 0; round < rounds; ++round) send_parts(memory, bytes, 1, leads, peer);
  } else {
    for (int round = 0; round < rounds; ++round) times[round] = half_round_trip(leads, peer);
  }
  if (rank == 1) printf("beside %.9f\n", median(times, rounds));
  fflush(stdout);
  free(memory);
  MPI_Finalize();
  return 0;
}
