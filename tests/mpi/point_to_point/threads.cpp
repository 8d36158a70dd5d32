// SPDX-License-Identifier: Apache-2.0
// MPI_THREAD_MULTIPLE: threads of every rank exchange messages with threads of all others at once,
// each pair by tags of its own, with wildcards on a duplicate, and a thread that sits in a
// collective meanwhile. Then threads that end soon, and requests that another thread completes than
// the one that began them.
#include <unistd.h>

#include <array>
#include <cstdio>
#include <deque>
#include <fstream>
#include <thread>
#include <vector>

#include "tests/support/check.hpp"
#include "tests/support/content.hpp"

namespace {

using impishim_test::content;
using impishim_test::holds;
using impishim_test::rank_in;
using impishim_test::size_of;

constexpr int kThreads = 4;
constexpr int kRounds = 60;

std::uint64_t seed_of(int sender, int thread, int round) {
  return static_cast<std::uint64_t>(((sender * kThreads) + thread) * 1000 + round);
}

std::size_t size_of_message(int round) {
  return round % 20 == 19 ? 150000U : static_cast<std::size_t>(round * 37);
}

/// Thread `thread` of all ranks: everybody sends to everybody else and receives from there,
/// blocking and nonblocking.
void exchange(int thread) {
  const int rank = rank_in(MPI_COMM_WORLD);
  const int size = size_of(MPI_COMM_WORLD);
  for (int round = 0; round < kRounds; ++round) {
    const std::size_t bytes = size_of_message(round);
    const auto out = content(bytes, seed_of(rank, thread, round));
    for (int shift = 1; shift < size; ++shift) {
      const int to = (rank + shift) % size;
      const int from = (rank + size - shift) % size;
      std::vector<unsigned char> in(bytes);
      MPI_Request send = MPI_REQUEST_NULL;
      MPI_Isend(out.data(), static_cast<int>(bytes), MPI_BYTE, to, thread, MPI_COMM_WORLD, &send);
      MPI_Status status;
      MPI_Recv(in.data(), static_cast<int>(bytes), MPI_BYTE, from, thread, MPI_COMM_WORLD, &status);
      MPI_Wait(&send, MPI_STATUS_IGNORE);
      REQUIRE_EQUAL(status.MPI_SOURCE, from);
      REQUIRE_EQUAL(status.MPI_TAG, thread);
      REQUIRE(holds(in.data(), bytes, seed_of(from, thread, round)));
    }
  }
}

/// Matched probes by several threads on one communicator: every message is received once, by
/// whichever thread.
void matched(MPI_Comm comm, int messages, long* sum) {
  for (int i = 0; i < messages; ++i) {
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &message, &status);
    int value = -1;
    MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    REQUIRE_EQUAL(value, status.MPI_SOURCE * 1000 + status.MPI_TAG);
    *sum += value;
  }
}

/// Everybody sends a number to the next rank and receives one from the rank before.
struct Ring {
  explicit Ring(int number) : out(number) {
    const int rank = rank_in(MPI_COMM_WORLD);
    const int size = size_of(MPI_COMM_WORLD);
    MPI_Irecv(&in, 1, MPI_INT, (rank + size - 1) % size, kRingTag, MPI_COMM_WORLD, requests.data());
    MPI_Isend(&out, 1, MPI_INT, (rank + 1) % size, kRingTag, MPI_COMM_WORLD, &requests[1]);
  }
  void finish() {
    MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
    REQUIRE_EQUAL(in, out);
  }
  static constexpr int kRingTag = 99;
  int out;
  int in = -1;
  std::array<MPI_Request, 2> requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
};

long resident_bytes() {
  std::ifstream file("/proc/self/statm");
  long total = 0;
  long resident = 0;
  file >> total >> resident;
  REQUIRE(resident > 0);
  return resident * sysconf(_SC_PAGESIZE);
}

void one_after_the_other(int threads) {
  for (int i = 0; i < threads; ++i) std::thread([i] { Ring(i).finish(); }).join();
}

/// What a thread keeps for itself is everybody's again when it ends.
void short_lived_threads() {
  constexpr int kMany = 1500;
  constexpr long kGrowth = 24L << 20U;  // what 64 requests for each of them would exceed
  one_after_the_other(kMany / 10);
  const long before = resident_bytes();
  one_after_the_other(kMany);
  REQUIRE(resident_bytes() - before < kGrowth);
}

/// More than a thread keeps for itself, again and again from one thread to another.
void handed_over() {
  for (int round = 0; round < 10; ++round) {
    std::deque<Ring> rings;
    for (int i = 0; i < 300; ++i) rings.emplace_back(i);
    std::thread([&] {
      for (Ring& ring : rings) ring.finish();
    }).join();
  }
}

}  // namespace

int main(int argc, char** argv) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  REQUIRE_EQUAL(provided, MPI_THREAD_MULTIPLE);
  const int rank = rank_in(MPI_COMM_WORLD);
  const int size = size_of(MPI_COMM_WORLD);
  MPI_Comm own = MPI_COMM_NULL;
  MPI_Comm probed = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &own);
  MPI_Comm_dup(MPI_COMM_WORLD, &probed);

  {
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) threads.emplace_back(exchange, thread);
    // This thread uses collectives on a communicator of its own while the others exchange.
    for (int round = 0; round < 20; ++round) {
      int sum = 0;
      MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, own);
      REQUIRE_EQUAL(sum, size * (size - 1) / 2);
    }
    for (auto& thread : threads) thread.join();
  }

  constexpr int kEach = 40;
  std::vector<long> sums(2, 0);
  std::thread first(matched, probed, size * kEach / 2, &sums[0]);
  std::thread second(matched, probed, size * kEach / 2, &sums[1]);
  for (int i = 0; i < kEach; ++i) {
    const int value = rank * 1000 + i;
    for (int to = 0; to < size; ++to) MPI_Send(&value, 1, MPI_INT, to, i, probed);
  }
  first.join();
  second.join();
  const long expected =
      1000L * kEach * size * (size - 1) / 2 + static_cast<long>(size) * kEach * (kEach - 1) / 2;
  REQUIRE_EQUAL(sums[0] + sums[1], expected);
  MPI_Comm_free(&own);
  MPI_Comm_free(&probed);

  short_lived_threads();
  handed_over();
  std::printf("rank %d: %d threads\n", rank, kThreads);
  MPI_Finalize();
  return 0;
}
