// SPDX-License-Identifier: Apache-2.0
/* The MPI side of the scenarios of tests/foreign/scenarios.py: a plain MPI program, one of whose
 * ranks is another implementation's.
 *
 * partner <rank of the foreign process> <messages that are cancelled at once> <scenario> ... */
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  SHORT_TAG = 11,
  SYNC_TAG,
  LONG_TAG,
  CANCEL_TAG,
  MATCHED_TAG,
  PROBE_TAG,
  TYPE_TAG,
  UNMATCHED_TAG,
  TOKEN_TAG
};
enum {
  SHORT_COUNT = 45,
  SYNC_COUNT = 50,
  PERIOD = 1000,
  CANCEL_ROUNDS = 4,
  BARRIERS = 25,
  LONGS = 3,
  MOST_CANCELS = 64
};
static const int long_bytes[LONGS] = {70000, 800004, 3200000};

static int rank, size;

static int value(int of, int message, int index) {
  return (of * 1009 + message * 31 + index % PERIOD * 7) % 100003;
}

static int* ints(int of, int message, int count) {
  int* all = malloc(sizeof(int) * (size_t)(count + 1));
  for (int i = 0; i < count; ++i) all[i] = value(of, message, i);
  return all;
}

static void require(int right, const char* what) {
  if (right) return;
  printf("partner rank %d: wrong: %s\n", rank, what);
  fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

static void require_ints(const int* data, int of, int message, int count, const char* what) {
  int* expected = ints(of, message, count);
  require(memcmp(data, expected, sizeof(int) * (size_t)count) == 0, what);
  free(expected);
}

static void send_ints(int to, int tag, int message, int count, int synchronous) {
  int* data = ints(rank, message, count);
  (synchronous ? MPI_Ssend : MPI_Send)(data, count, MPI_INT, to, tag, MPI_COMM_WORLD);
  free(data);
}

static void receive_ints(int from, int tag, int message, int count, const char* what) {
  int* data = malloc(sizeof(int) * (size_t)(count + 1));
  MPI_Status status;
  int got = -1;
  MPI_Recv(data, count, MPI_INT, from, tag, MPI_COMM_WORLD, &status);
  MPI_Get_count(&status, MPI_INT, &got);
  require(got == count && status.MPI_SOURCE == from && status.MPI_TAG == tag, what);
  require_ints(data, from, message, count, what);
  free(data);
}

static void token_to(int peer) { MPI_Send(NULL, 0, MPI_BYTE, peer, TOKEN_TAG, MPI_COMM_WORLD); }
static void token_from(int peer) {
  MPI_Recv(NULL, 0, MPI_BYTE, peer, TOKEN_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void short_messages(int peer) {
  int* data[SHORT_COUNT];
  MPI_Request requests[SHORT_COUNT];
  MPI_Status statuses[SHORT_COUNT];
  for (int i = 0; i < SHORT_COUNT; ++i) {
    data[i] = ints(rank, i, i * 5);
    MPI_Isend(data[i], i * 5, MPI_INT, peer, SHORT_TAG, MPI_COMM_WORLD, &requests[i]);
  }
  MPI_Waitall(SHORT_COUNT, requests, statuses);
  for (int i = 0; i < SHORT_COUNT; ++i) free(data[i]);
  for (int i = 0; i < SHORT_COUNT; ++i) receive_ints(peer, SHORT_TAG, i, i * 5, "a short message");
  token_to(peer);
}

static void synchronous_messages(int peer) {
  for (int i = 0; i < SYNC_COUNT; ++i) send_ints(peer, SYNC_TAG, i, i, 1);
  token_to(peer);
  for (int i = 0; i < SYNC_COUNT; ++i) receive_ints(peer, SYNC_TAG, i, i, "a synchronous message");
  token_to(peer);
}

static void long_messages(int peer) {
  int* out[LONGS];
  int* in[LONGS];
  MPI_Request requests[2 * LONGS];
  MPI_Status statuses[2 * LONGS];
  for (int i = 0; i < LONGS; ++i) {
    send_ints(peer, LONG_TAG, i, long_bytes[i] / 4, i % 2);
    receive_ints(peer, LONG_TAG, i, long_bytes[i] / 4, "a long message");
  }
  for (int i = 0; i < LONGS; ++i) {
    const int count = long_bytes[i] / 4;
    out[i] = ints(rank, i, count);
    in[i] = malloc((size_t)long_bytes[i]);
    MPI_Irecv(in[i], count, MPI_INT, peer, LONG_TAG, MPI_COMM_WORLD, &requests[i]);
    MPI_Isend(out[i], count, MPI_INT, peer, LONG_TAG, MPI_COMM_WORLD, &requests[LONGS + i]);
  }
  MPI_Waitall(2 * LONGS, requests, statuses);
  for (int i = 0; i < LONGS; ++i) {
    require_ints(in[i], peer, i, long_bytes[i] / 4, "one of several long messages");
    free(in[i]);
    free(out[i]);
  }
  token_to(peer);
}

static int was_cancelled(MPI_Request* request) {
  MPI_Status status;
  int cancelled = -1;
  MPI_Wait(request, &status);
  MPI_Test_cancelled(&status, &cancelled);
  return cancelled;
}

/* What is never received: synchronous messages, and a long one. */
static void cancel_unmatched(int peer, int number) {
  MPI_Request requests[MOST_CANCELS];
  int* data = ints(rank, 0, long_bytes[0] / 4);
  for (int i = 0; i < number; ++i)
    MPI_Issend(data, i + 1 < number ? 3 : long_bytes[0] / 4, MPI_INT, peer, CANCEL_TAG,
               MPI_COMM_WORLD, &requests[i]);
  for (int i = 0; i < number; ++i) MPI_Cancel(&requests[i]);
  for (int i = 0; i < number; ++i)
    require(was_cancelled(&requests[i]) == 1, "an unmatched send was not cancelled");
  free(data);
  token_to(peer);
  token_from(peer);
}

static void cancelled_messages(int peer, int number) {
  int there = -1;
  int* data = ints(rank, 0, 3);
  MPI_Request request;
  for (int turn = 0; turn < CANCEL_ROUNDS; ++turn) cancel_unmatched(peer, number);
  MPI_Issend(data, 3, MPI_INT, peer, MATCHED_TAG, MPI_COMM_WORLD, &request);
  token_from(peer);
  MPI_Cancel(&request);
  require(was_cancelled(&request) == 0, "a matched send was cancelled");
  token_to(peer);
  for (int turn = 0; turn < CANCEL_ROUNDS; ++turn) {
    token_from(peer);
    MPI_Iprobe(peer, CANCEL_TAG, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    require(there == 0, "a message that was cancelled is there");
    token_to(peer);
  }
  receive_ints(peer, MATCHED_TAG, 0, 3, "the message that is not to be cancelled");
  token_to(peer);
  token_from(peer);
  token_to(peer);
  free(data);
}

static void probed_messages(int peer) {
  const int bytes[3] = {0, 40, long_bytes[1]};
  for (int i = 0; i < 3; ++i) {
    MPI_Status status;
    int count = -1;
    MPI_Probe(peer, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    require(count == bytes[i] / 4 && status.MPI_TAG == PROBE_TAG + i * 100,
            "a probed message's tag or length");
    receive_ints(peer, status.MPI_TAG, i, count, "a probed message");
    send_ints(peer, PROBE_TAG + i * 100, i, count, 0);
  }
  token_to(peer);
}

/* Three elements there, and the same back. */
static void exchange(int peer, const void* values, int count, MPI_Datatype type, size_t bytes,
                     const char* what) {
  unsigned char back[64];
  memset(back, 0, sizeof(back));
  MPI_Send(values, count, type, peer, TYPE_TAG, MPI_COMM_WORLD);
  MPI_Recv(back, count, type, peer, TYPE_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  require(memcmp(values, back, bytes) == 0, what);
}

static void send_packed(int peer) {
  const int integers[3] = {1, 2, 3};
  const double half = 0.5;
  unsigned char buffer[64];
  int position = 0;
  MPI_Pack(integers, 3, MPI_INT, buffer, sizeof(buffer), &position, MPI_COMM_WORLD);
  MPI_Pack(&half, 1, MPI_DOUBLE, buffer, sizeof(buffer), &position, MPI_COMM_WORLD);
  MPI_Send(buffer, position, MPI_PACKED, peer, TYPE_TAG, MPI_COMM_WORLD);
}

static void types(int peer) {
  const signed char chars[3] = {-3, 0, 100};
  const short shorts[3] = {-300, 0, 30000};
  const int integers[3] = {-70000, 0, 70000};
  const long longs[3] = {-70000, 0, 2000000000};
  const long long long_longs[3] = {-(1LL << 40), 0, 1LL << 40};
  const float floats[3] = {-1.5F, 0.0F, 0.15625F};
  const double doubles[3] = {-1e100, 0.0, 0.1};
  static const long double long_doubles[3] = {(double)-1e100, (double)0.1, 3.0L};
  struct Pair {
    int first;
    double second;
  };
  struct Pair pairs[2];
  const int lengths[2] = {1, 1};
  const MPI_Aint places[2] = {0, (MPI_Aint)offsetof(struct Pair, second)};
  const MPI_Datatype parts[2] = {MPI_INT, MPI_DOUBLE};
  MPI_Datatype pair;
  exchange(peer, chars, 3, MPI_SIGNED_CHAR, sizeof(chars), "signed char");
  exchange(peer, shorts, 3, MPI_SHORT, sizeof(shorts), "short");
  exchange(peer, integers, 3, MPI_INT, sizeof(integers), "int");
  exchange(peer, longs, 3, MPI_LONG, sizeof(longs), "long");
  exchange(peer, long_longs, 3, MPI_LONG_LONG, sizeof(long_longs), "long long");
  exchange(peer, floats, 3, MPI_FLOAT, sizeof(floats), "float");
  exchange(peer, doubles, 3, MPI_DOUBLE, sizeof(doubles), "double");
  exchange(peer, long_doubles, 3, MPI_LONG_DOUBLE, 10, "long double");
  memset(pairs, 0, sizeof(pairs));
  pairs[0].first = 7;
  pairs[0].second = 0.5;
  pairs[1].first = -8;
  pairs[1].second = 0.25;
  MPI_Type_create_struct(2, lengths, places, parts, &pair);
  MPI_Type_commit(&pair);
  exchange(peer, pairs, 2, pair, sizeof(pairs), "structures");
  MPI_Type_free(&pair);
  send_packed(peer);
  token_to(peer);
}

static void unmatched_messages(int peer) {
  for (int i = 0; i < 3; ++i) send_ints(peer, UNMATCHED_TAG, 0, 10, 0);
}

/* x -> a x + b, left before right. */
static void affine(void* left, void* right, int* length, MPI_Datatype* type) {
  const long long modulus = 2147483647;
  const int* l = left;
  int* r = right;
  (void)type;
  for (int i = 0; i < *length; i += 2) {
    const long long a = (long long)l[i] * r[i] % modulus;
    const long long b = ((long long)l[i + 1] * r[i] + r[i + 1]) % modulus;
    r[i] = (int)a;
    r[i + 1] = (int)b;
  }
}

static void broadcasts(void) {
  const int counts[3] = {3, 0, 30000};
  for (int root = 0; root < size; ++root) {
    for (int i = 0; i < 3; ++i) {
      int* data = ints(root, rank == root ? counts[i] : -1, counts[i]);
      MPI_Bcast(data, counts[i], MPI_INT, root, MPI_COMM_WORLD);
      require_ints(data, root, counts[i], counts[i], "a broadcast");
      free(data);
    }
  }
}

static void reduce_ints(int root, int count, MPI_Op op, const char* what) {
  int* data = ints(rank, root, count);
  int* result = ints(rank, root, count);
  MPI_Reduce(data, result, count, MPI_INT, op, root, MPI_COMM_WORLD);
  for (int i = 0; rank == root && i < count; ++i) {
    int expected = value(0, root, i);
    for (int other = 1; other < size; ++other) {
      const int more = value(other, root, i);
      if (op == MPI_SUM) expected += more;
      if (op == MPI_MAX && more > expected) expected = more;
    }
    require(result[i] == expected, what);
  }
  free(data);
  free(result);
}

static void reduce_doubles(int root, int count) {
  double* data = malloc(sizeof(double) * (size_t)count);
  double* result = malloc(sizeof(double) * (size_t)count);
  for (int i = 0; i < count; ++i) data[i] = value(rank, root, i);
  MPI_Reduce(data, result, count, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
  for (int i = 0; rank == root && i < count; ++i) {
    double expected = 0;
    for (int other = 0; other < size; ++other) expected += value(other, root, i);
    require(result[i] == expected, "a sum of doubles");
  }
  free(data);
  free(result);
}

static void reduce_in_order(int root, MPI_Op in_order) {
  enum { COUNT = 4 };
  int data[COUNT], result[COUNT], expected[COUNT];
  int length = COUNT;
  MPI_Datatype type = MPI_INT;
  for (int i = 0; i < COUNT; ++i) data[i] = value(rank, 1, i) + 1;
  MPI_Reduce(data, result, COUNT, MPI_INT, in_order, root, MPI_COMM_WORLD);
  if (rank != root) return;
  for (int i = 0; i < COUNT; ++i) expected[i] = value(size - 1, 1, i) + 1;
  for (int other = size - 2; other >= 0; --other) {
    int left[COUNT];
    for (int i = 0; i < COUNT; ++i) left[i] = value(other, 1, i) + 1;
    affine(left, expected, &length, &type);
  }
  require(memcmp(result, expected, sizeof(expected)) == 0, "a reduction that does not commute");
}

static void collectives(void) {
  MPI_Op in_order;
  for (int i = 0; i < BARRIERS; ++i) MPI_Barrier(MPI_COMM_WORLD);
  broadcasts();
  MPI_Op_create(affine, 0, &in_order);
  for (int root = 0; root < size; ++root) {
    reduce_ints(root, 5, MPI_SUM, "a sum");
    reduce_doubles(root, 20000);
    reduce_ints(root, 4, MPI_MAX, "a maximum");
    reduce_in_order(root, in_order);
  }
  MPI_Op_free(&in_order);
  for (int turn = 0; turn < 3; ++turn) {
    int* data = ints(rank, 0, 5);
    int result[5];
    MPI_Allreduce(data, result, 5, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < 5; ++i) {
      int expected = 0;
      for (int other = 0; other < size; ++other) expected += value(other, 0, i);
      require(result[i] == expected, "an allreduce");
    }
    free(data);
  }
}

static void run(const char* name, int peer, int number) {
  if (strcmp(name, "short") == 0)
    short_messages(peer);
  else if (strcmp(name, "synchronous") == 0)
    synchronous_messages(peer);
  else if (strcmp(name, "long") == 0)
    long_messages(peer);
  else if (strcmp(name, "cancel") == 0)
    cancelled_messages(peer, number);
  else if (strcmp(name, "probe") == 0)
    probed_messages(peer);
  else if (strcmp(name, "types") == 0)
    types(peer);
  else if (strcmp(name, "unmatched") == 0)
    unmatched_messages(peer);
  else if (strcmp(name, "collectives") == 0)
    collectives();
  else
    require(0, "a scenario that does not exist");
  printf("partner rank %d: %s\n", rank, name);
  fflush(stdout);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  require(argc > 3, "arguments: foreign rank, messages cancelled at once, scenarios");
  for (int i = 3; i < argc; ++i) run(argv[i], atoi(argv[1]), atoi(argv[2]));
  MPI_Finalize();
  printf("partner rank %d: finalized\n", rank);
  return 0;
}
