// SPDX-License-Identifier: Apache-2.0
// Every mode of sending, blocking and not, between every pair of ranks, with sizes around every
// protocol's limits; statuses, counts, MPI_PROC_NULL and empty messages.
#include <cstdint>
#include <vector>

#include "tests/support/check.hpp"

namespace {

using BlockingSend = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm);
using NonblockingSend = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

struct Mode {
  BlockingSend blocking;
  NonblockingSend nonblocking;
};
// A ready send needs its receive posted: it has a test of its own below.
const Mode kModes[] = {{MPI_Send, MPI_Isend}, {MPI_Ssend, MPI_Issend}, {MPI_Bsend, MPI_Ibsend}};
const int kSizes[] = {0, 1, 7, 1024, 65535, 65536, 65537, 300000};

unsigned char byte_at(int source, int tag, int i) {
  return static_cast<unsigned char>(source * 31 + tag * 7 + i * 13 + i / 251);
}

std::vector<unsigned char> content(int source, int tag, int size) {
  std::vector<unsigned char> bytes(static_cast<std::size_t>(size));
  for (int i = 0; i < size; ++i) bytes[static_cast<std::size_t>(i)] = byte_at(source, tag, i);
  return bytes;
}

void receive_and_check(int source, int tag, int size) {
  std::vector<unsigned char> bytes(static_cast<std::size_t>(size) + 16, 0xEE);
  MPI_Status status;
  MPI_Recv(bytes.data(), size + 16, MPI_BYTE, source, tag, MPI_COMM_WORLD, &status);
  REQUIRE_EQUAL(status.MPI_SOURCE, source);
  REQUIRE_EQUAL(status.MPI_TAG, tag);
  int count = -1;
  MPI_Get_count(&status, MPI_BYTE, &count);
  REQUIRE_EQUAL(count, size);
  int cancelled = 1;
  MPI_Test_cancelled(&status, &cancelled);
  REQUIRE_EQUAL(cancelled, 0);
  for (int i = 0; i < size; ++i)
    REQUIRE_EQUAL(bytes[static_cast<std::size_t>(i)], byte_at(source, tag, i));
  for (int i = size; i < size + 16; ++i) REQUIRE_EQUAL(bytes[static_cast<std::size_t>(i)], 0xEE);
}

void every_pair(int rank, int ranks) {
  int tag = 0;
  for (const Mode& mode : kModes) {
    for (const int size : kSizes) {
      for (int from = 0; from < ranks; ++from) {
        for (int to = 0; to < ranks; ++to) {
          if (from == to) continue;
          ++tag;
          if (rank == from) {
            const auto bytes = content(rank, tag, size);
            mode.blocking(bytes.data(), size, MPI_BYTE, to, tag, MPI_COMM_WORLD);
            MPI_Request request;
            const auto more = content(rank, tag + 1, size);
            mode.nonblocking(more.data(), size, MPI_BYTE, to, tag + 1, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            REQUIRE(request == MPI_REQUEST_NULL);
          } else if (rank == to) {
            receive_and_check(from, tag, size);
            receive_and_check(from, tag + 1, size);
          }
          ++tag;
        }
      }
    }
  }
}

/// The receiver tells when the receive is posted; the ready send may come then.
void ready(int rank, int ranks) {
  const int next = (rank + 1) % ranks;
  const int previous = (rank + ranks - 1) % ranks;
  for (int round = 0; round < 20; ++round) {
    int got[2] = {-1, -1};
    MPI_Request requests[3];
    MPI_Irecv(&got[0], 1, MPI_INT, previous, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&got[1], 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Sendrecv(nullptr, 0, MPI_INT, previous, 3, nullptr, 0, MPI_INT, next, 3, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    const int value = rank * 100 + round;
    MPI_Rsend(&value, 1, MPI_INT, next, 1, MPI_COMM_WORLD);
    MPI_Irsend(&value, 1, MPI_INT, next, 2, MPI_COMM_WORLD, &requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    REQUIRE_EQUAL(got[0], previous * 100 + round);
    REQUIRE_EQUAL(got[1], previous * 100 + round);
  }
}

/// All ranks send to all, themselves too, before anybody waits.
void all_at_once(int rank, int ranks) {
  const int size = 100000;
  std::vector<std::vector<unsigned char>> out, in(static_cast<std::size_t>(ranks));
  std::vector<MPI_Request> requests;
  for (int peer = 0; peer < ranks; ++peer) {
    in[static_cast<std::size_t>(peer)].resize(size);
    requests.emplace_back();
    MPI_Irecv(in[static_cast<std::size_t>(peer)].data(), size, MPI_BYTE, peer, 5, MPI_COMM_WORLD,
              &requests.back());
  }
  for (int peer = 0; peer < ranks; ++peer) {
    out.push_back(content(rank, peer, size));
    requests.emplace_back();
    MPI_Isend(out.back().data(), size, MPI_BYTE, peer, 5, MPI_COMM_WORLD, &requests.back());
  }
  std::vector<MPI_Status> statuses(requests.size());
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), statuses.data());
  for (int peer = 0; peer < ranks; ++peer) {
    REQUIRE_EQUAL(statuses[static_cast<std::size_t>(peer)].MPI_SOURCE, peer);
    REQUIRE(in[static_cast<std::size_t>(peer)] == content(peer, rank, size));
  }
}

/// A column of a matrix into a row: different type maps with one signature, with gaps that must
/// stay as they are.
void typed(int rank, int ranks) {
  MPI_Datatype column;
  MPI_Type_vector(8, 1, 8, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  double matrix[64];
  for (int i = 0; i < 64; ++i) matrix[i] = rank * 1000 + i + 0.25;
  const int next = (rank + 1) % ranks;
  const int previous = (rank + ranks - 1) % ranks;
  double row[9] = {0, 0, 0, 0, 0, 0, 0, 0, -1};
  MPI_Status status;
  MPI_Sendrecv(&matrix[3], 1, column, next, 0, row, 9, MPI_DOUBLE, previous, 0, MPI_COMM_WORLD,
               &status);
  int count = 0;
  MPI_Get_count(&status, MPI_DOUBLE, &count);
  REQUIRE_EQUAL(count, 8);
  MPI_Get_count(&status, column, &count);
  REQUIRE_EQUAL(count, 1);
  for (int i = 0; i < 8; ++i) REQUIRE(row[i] == previous * 1000 + i * 8 + 3 + 0.25);
  REQUIRE(row[8] == -1);
  // Half a column: no whole element of the type, four of its parts.
  MPI_Sendrecv(row, 4, MPI_DOUBLE, next, 0, &matrix[3], 1, column, previous, 0, MPI_COMM_WORLD,
               &status);
  MPI_Get_count(&status, column, &count);
  REQUIRE_EQUAL(count, MPI_UNDEFINED);
  MPI_Get_elements(&status, column, &count);
  REQUIRE_EQUAL(count, 4);
  const int before = (previous + ranks - 1) % ranks;
  for (int i = 0; i < 4; ++i) REQUIRE(matrix[i * 8 + 3] == before * 1000 + i * 8 + 3 + 0.25);
  REQUIRE(matrix[4] == rank * 1000 + 4.25);
  REQUIRE(matrix[4 * 8 + 3] == rank * 1000 + 4 * 8 + 3.25);
  MPI_Type_free(&column);
}

void nobody() {
  int value = 7;
  MPI_Status status;
  MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
  MPI_Ssend(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
  MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
  int count = -1;
  MPI_Get_count(&status, MPI_INT, &count);
  REQUIRE_EQUAL(count, 0);
  REQUIRE_EQUAL(status.MPI_SOURCE, MPI_PROC_NULL);
  REQUIRE_EQUAL(status.MPI_TAG, MPI_ANY_TAG);
  REQUIRE_EQUAL(value, 7);
  MPI_Request requests[2];
  MPI_Isend(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[1]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Wait(&requests[1], &status);
  REQUIRE_EQUAL(status.MPI_SOURCE, MPI_PROC_NULL);
  MPI_Get_count(&status, MPI_INT, &count);
  REQUIRE_EQUAL(count, 0);
  MPI_Sendrecv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, &value, 1, MPI_INT, MPI_PROC_NULL, 0,
               MPI_COMM_WORLD, &status);
  REQUIRE_EQUAL(status.MPI_SOURCE, MPI_PROC_NULL);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = impishim_test::rank_in(MPI_COMM_WORLD);
  const int ranks = impishim_test::size_of(MPI_COMM_WORLD);
  std::vector<char> space(4 << 20);
  MPI_Buffer_attach(space.data(), static_cast<int>(space.size()));
  every_pair(rank, ranks);
  void* detached = nullptr;
  int detached_size = 0;
  MPI_Buffer_detach(&detached, &detached_size);
  REQUIRE(detached == space.data());
  REQUIRE_EQUAL(detached_size, static_cast<int>(space.size()));
  ready(rank, ranks);
  all_at_once(rank, ranks);
  typed(rank, ranks);
  nobody();
  if (rank == 0) std::printf("%d ranks: every mode of sending works\n", ranks);
  MPI_Finalize();
  return 0;
}
