// SPDX-License-Identifier: Apache-2.0
// Deadlocks that a library above another could make: progress is needed on both sides, whatever the
// ranks wait for.
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tests/support/check.hpp"
#include "tests/support/content.hpp"

namespace {

using impishim_test::content;
using impishim_test::holds;
using impishim_test::rank_in;
using impishim_test::size_of;

const MPI_Comm kWorld = MPI_COMM_WORLD;
constexpr int kLong = 2000000;

double seconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Computes without calling MPI.
void compute(double duration) {
  const double end = seconds() + duration;
  while (seconds() < end) {
  }
}

/// A rank waits for a message of one system while its own long send to another needs progress of
/// the other library; all pairs.
void wait_elsewhere() {
  const int rank = rank_in(kWorld);
  const int size = size_of(kWorld);
  for (int shift = 1; shift < size; ++shift) {
    const int to = (rank + shift) % size;
    const int from = (rank + size - shift) % size;
    const auto out = content(kLong, static_cast<std::uint64_t>(rank));
    std::vector<unsigned char> in(kLong);
    MPI_Request send = MPI_REQUEST_NULL;
    MPI_Isend(out.data(), kLong, MPI_BYTE, to, 1, kWorld, &send);
    // A token goes round all ranks, each of which waits for it in MPI_Recv with its long send under
    // way. The long message is received before the token is passed on: the token arrives only if
    // the waiting ranks drive their sends.
    int token = 0;
    if (rank != 0) MPI_Recv(&token, 1, MPI_INT, rank - 1, 2, kWorld, MPI_STATUS_IGNORE);
    MPI_Recv(in.data(), kLong, MPI_BYTE, from, 1, kWorld, MPI_STATUS_IGNORE);
    REQUIRE(holds(in.data(), kLong, static_cast<std::uint64_t>(from)));
    ++token;
    if (rank != size - 1) MPI_Send(&token, 1, MPI_INT, rank + 1, 2, kWorld);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Barrier(kWorld);
  }
}

/// A wildcard receive is outstanding while its rank sits in something else, which ends only once
/// that receive is complete elsewhere.
void outstanding_wildcard(bool collective) {
  const int rank = rank_in(kWorld);
  const int size = size_of(kWorld);
  MPI_Comm half = MPI_COMM_NULL;
  // Neighbours share a communicator: within a system it is the vendor's alone.
  MPI_Comm_split(kWorld, rank / 2, rank, &half);
  for (int sender = 0; sender < size; ++sender) {
    // The partner of rank r in `half` waits for r; the long message comes from `sender`, which
    // waits until it is received (MPI_Ssend), before it enters the barrier or sends the partner's
    // token.
    const int receiver = (sender + size / 2) % size;
    std::vector<unsigned char> in(kLong);
    if (rank == receiver) {
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Irecv(in.data(), kLong, MPI_BYTE, MPI_ANY_SOURCE, 3, kWorld, &request);
      MPI_Barrier(kWorld);
      int token = 0;
      if (collective) {
        MPI_Barrier(half);
      } else if (size_of(half) > 1) {
        MPI_Recv(&token, 1, MPI_INT, 1 - rank_in(half), 4, half, MPI_STATUS_IGNORE);
      }
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      REQUIRE(holds(in.data(), kLong, static_cast<std::uint64_t>(sender)));
    } else {
      MPI_Barrier(kWorld);
      if (rank == sender) {
        const auto out = content(kLong, static_cast<std::uint64_t>(sender));
        MPI_Ssend(out.data(), kLong, MPI_BYTE, receiver, 3, kWorld);
        int token = 1;
        // Only now may the receiver's partner release it.
        if (rank / 2 != receiver / 2 && (receiver ^ 1) < size)
          MPI_Send(&token, 1, MPI_INT, receiver ^ 1, 5, kWorld);
        if (collective) MPI_Barrier(half);
        if (!collective && rank == (receiver ^ 1))
          MPI_Send(&token, 1, MPI_INT, 1 - rank_in(half), 4, half);
      } else if (rank == (receiver ^ 1)) {
        int token = 0;
        if (sender / 2 != receiver / 2)
          MPI_Recv(&token, 1, MPI_INT, sender, 5, kWorld, MPI_STATUS_IGNORE);
        if (collective) {
          MPI_Barrier(half);
        } else {
          MPI_Send(&token, 1, MPI_INT, 1 - rank_in(half), 4, half);
        }
      } else if (collective) {
        MPI_Barrier(half);
      }
    }
    MPI_Barrier(kWorld);
  }
  MPI_Comm_free(&half);
}

/// A number in memory that all processes on this machine share: news without MPI.
class SharedNumber {
 public:
  /// Collective.
  SharedNumber() {
    std::array<char, 64> name{"/tmp/impishim-progress-XXXXXX"};
    int file = rank_in(kWorld) == 0 ? mkstemp(name.data()) : -1;
    if (file >= 0) REQUIRE_EQUAL(ftruncate(file, sizeof(std::atomic<int>)), 0);
    MPI_Bcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, kWorld);
    if (rank_in(kWorld) != 0) file = open(name.data(), O_RDWR);
    REQUIRE(file >= 0);
    memory_ = mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    REQUIRE(memory_ != MAP_FAILED);
    close(file);
    MPI_Barrier(kWorld);
    if (rank_in(kWorld) == 0) unlink(name.data());
  }
  ~SharedNumber() { munmap(memory_, sizeof(std::atomic<int>)); }
  SharedNumber(const SharedNumber&) = delete;
  SharedNumber& operator=(const SharedNumber&) = delete;

  /// Files begin as zeros, which is the number 0.
  [[nodiscard]] std::atomic<int>& value() { return *static_cast<std::atomic<int>*>(memory_); }

 private:
  void* memory_ = nullptr;
};

/// One rank computes until all the others have exchanged messages, some of them by way of its host,
/// whose representative it may be: it relays and acknowledges for them meanwhile.
void others_compute() {
  SharedNumber finished;
  const int rank = rank_in(kWorld);
  const int size = size_of(kWorld);
  for (int computing = 0; computing < size; ++computing) {
    MPI_Barrier(kWorld);
    if (rank == computing) {
      while (finished.value().load() != (computing + 1) * (size - 1)) {
      }
    } else {
      for (int round = 0; round < 20; ++round) {
        for (int other = 0; other < size; ++other) {
          if (other == rank || other == computing) continue;
          const std::size_t bytes = round % 10 == 5 ? 200000 : 1000;
          const auto out = content(bytes, static_cast<std::uint64_t>(rank));
          std::vector<unsigned char> in(bytes);
          MPI_Sendrecv(out.data(), static_cast<int>(bytes), MPI_BYTE, other, 6, in.data(),
                       static_cast<int>(bytes), MPI_BYTE, other, 6, kWorld, MPI_STATUS_IGNORE);
          REQUIRE(holds(in.data(), bytes, static_cast<std::uint64_t>(other)));
        }
      }
      finished.value().fetch_add(1);
    }
  }
  MPI_Barrier(kWorld);
}

/// The rest of a long message leaves while its sender computes, and synchronous sends end while the
/// receiver of a posted receive computes.
void sender_computes() {
  const int rank = rank_in(kWorld);
  const int peer = size_of(kWorld) - 1 - rank;
  const auto out = content(kLong, static_cast<std::uint64_t>(rank));
  std::vector<unsigned char> in(kLong);
  MPI_Request requests[2];
  MPI_Irecv(in.data(), kLong, MPI_BYTE, peer, 7, kWorld, &requests[0]);
  MPI_Isend(out.data(), kLong, MPI_BYTE, peer, 7, kWorld, &requests[1]);
  compute(0.2);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  REQUIRE(holds(in.data(), kLong, static_cast<std::uint64_t>(peer)));
  MPI_Barrier(kWorld);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  wait_elsewhere();
  std::printf("rank %d: waited elsewhere\n", rank_in(kWorld));
  outstanding_wildcard(false);
  outstanding_wildcard(true);
  std::printf("rank %d: wildcard outstanding\n", rank_in(kWorld));
  others_compute();
  sender_computes();
  std::printf("rank %d: computed\n", rank_in(kWorld));
  MPI_Finalize();
  return 0;
}
