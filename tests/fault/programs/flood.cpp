// SPDX-License-Identifier: Apache-2.0
// A fast sender in each other system floods rank 0, which computes first and receives later, both
// with messages of one packet and with long ones. Rank 0's memory and the senders' must stay far
// below what is sent. Rank 0 takes what comes: while it waited for one sender, the others' messages
// would have to be let in, as many as the operating system lets them send.
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/check.hpp"
#include "tests/support/content.hpp"

namespace {

using impishim_test::fill;
using impishim_test::holds;
using impishim_test::rank_in;
using impishim_test::size_of;

constexpr int kMessages = 2000;
constexpr std::size_t kShort = 32768;
constexpr std::size_t kLong = 1 << 20;
constexpr int kLongMessages = 64;
constexpr std::size_t kMark = 64;
constexpr long kMiB = 1024;  // VmHWM is in KiB

/// The largest resident memory of this process so far, KiB.
long peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    long peak = 0;
    if (word == "VmHWM:" && status >> peak) return peak;
  }
  return -1;
}

/// Computes, without MPI, while the others have every chance to flood.
void compute_a_while() {
  const double end = MPI_Wtime() + 1.5;
  while (MPI_Wtime() < end) {
  }
}

void flood(std::size_t bytes, int messages) {
  const int tag = static_cast<int>(bytes);
  const int rank = rank_in(MPI_COMM_WORLD);
  std::vector<unsigned char> data(bytes);
  // Only the first bytes tell one message from another: the sender should be fast.
  fill(data.data(), bytes, static_cast<std::uint64_t>(rank));
  if (rank != 0) {
    for (int i = 0; i < messages; ++i) {
      fill(data.data(), kMark, static_cast<std::uint64_t>(rank * 10000 + i));
      MPI_Send(data.data(), static_cast<int>(bytes), MPI_BYTE, 0, tag, MPI_COMM_WORLD);
    }
    return;
  }
  compute_a_while();
  const int size = size_of(MPI_COMM_WORLD);
  std::vector<int> received(static_cast<std::size_t>(size));
  for (int i = 0; i < messages * (size - 1); ++i) {
    MPI_Status status;
    MPI_Recv(data.data(), static_cast<int>(bytes), MPI_BYTE, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD,
             &status);
    const int from = status.MPI_SOURCE;
    int& next = received[static_cast<std::size_t>(from)];
    REQUIRE(holds(data.data(), kMark, static_cast<std::uint64_t>(from * 10000 + next)));
    ++next;
  }
  for (int from = 1; from < size; ++from)
    REQUIRE(received[static_cast<std::size_t>(from)] == messages);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  const long before = peak_memory();
  flood(kShort, kMessages);
  flood(kLong, kLongMessages);
  // Some 62 MiB of short and 64 MiB of long messages came from each sender.
  const long grown = peak_memory() - before;
  REQUIRE(before > 0);
  std::fprintf(stderr, "rank %d grew by %ld KiB\n", rank_in(MPI_COMM_WORLD), grown);
  REQUIRE(grown <= 16 * kMiB);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank_in(MPI_COMM_WORLD) == 0) std::printf("the flood was held back\n");
  MPI_Finalize();
  return 0;
}
