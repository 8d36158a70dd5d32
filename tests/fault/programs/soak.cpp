// SPDX-License-Identifier: Apache-2.0
// Messages between all ranks in all directions, whose sizes and contents follow from their numbers,
// so that each receiver knows what must arrive. Arguments: the number of messages and of bytes to
// exchange at least, and the seconds to last at least; then, if it is wanted, a file as long as
// which exists the program goes on. At the beginning each rank prints its process id, and rank 0
// prints "soaking"; at the end it prints what was received.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tests/support/check.hpp"

namespace {

/// Messages of one round from each rank to each other one.
constexpr std::size_t kWindow = 32;

std::uint64_t mixed(std::uint64_t value) {
  value ^= value >> 30U;
  value *= 0xbf58476d1ce4e5b9U;
  value ^= value >> 27U;
  value *= 0x94d049bb133111ebU;
  return value ^ value >> 31U;
}

std::uint64_t seed_of(int from, int to, std::uint64_t number) {
  return mixed(number * 64 + static_cast<std::uint64_t>(from * 8 + to) + 1);
}

/// Mostly short messages, some of medium size, few long ones: 2 KB in the mean.
int size_of_message(std::uint64_t seed) {
  const std::uint64_t kind = seed % 4096;
  const std::uint64_t random = seed / 4096;
  if (kind == 0) return static_cast<int>(random % 3000000);
  return static_cast<int>(kind < 128 ? random % 60000 : random % 1000);
}

/// Words that follow from the seed and the place, and a tail of single bytes.
void fill(std::vector<unsigned char>& bytes, std::uint64_t seed) {
  std::uint64_t word = seed;
  std::size_t at = 0;
  for (; at + sizeof(word) <= bytes.size(); at += sizeof(word)) {
    word = word * 6364136223846793005U + 1442695040888963407U;
    std::memcpy(bytes.data() + at, &word, sizeof(word));
  }
  for (; at < bytes.size(); ++at) bytes[at] = static_cast<unsigned char>(seed >> at % 8 * 8);
}

int tag_of(std::size_t place) { return static_cast<int>(place % 4); }

struct Totals {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
};

/// Sends and receives a round of messages with each other rank, and checks what has come.
void exchange_round(int rank, int size, std::uint64_t round, Totals& totals) {
  std::vector<std::vector<unsigned char>> sent;
  std::vector<std::vector<unsigned char>> received;
  std::vector<MPI_Request> requests;
  const auto places = static_cast<std::size_t>(size - 1) * kWindow;
  sent.reserve(places);
  received.reserve(places);
  for (int other = 0; other < size; ++other) {
    if (other == rank) continue;
    for (std::size_t i = 0; i < kWindow; ++i) {
      const std::uint64_t number = round * kWindow + i;
      auto& room = received.emplace_back(
          static_cast<std::size_t>(size_of_message(seed_of(other, rank, number))));
      MPI_Irecv(room.data(), static_cast<int>(room.size()), MPI_BYTE, other, tag_of(i),
                MPI_COMM_WORLD, &requests.emplace_back());
    }
  }
  for (std::size_t i = 0; i < kWindow; ++i) {
    for (int other = 0; other < size; ++other) {
      if (other == rank) continue;
      const std::uint64_t seed = seed_of(rank, other, round * kWindow + i);
      auto& message = sent.emplace_back(static_cast<std::size_t>(size_of_message(seed)));
      fill(message, seed);
      MPI_Isend(message.data(), static_cast<int>(message.size()), MPI_BYTE, other, tag_of(i),
                MPI_COMM_WORLD, &requests.emplace_back());
    }
  }
  std::vector<MPI_Status> statuses(requests.size());
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), statuses.data());
  std::vector<unsigned char> expected;
  for (std::size_t i = 0; i < received.size(); ++i) {
    const int from = statuses[i].MPI_SOURCE;
    const std::uint64_t number = round * kWindow + i % kWindow;
    int count = -1;
    MPI_Get_count(&statuses[i], MPI_BYTE, &count);
    REQUIRE_EQUAL(count, received[i].size());
    expected.resize(received[i].size());
    fill(expected, seed_of(from, rank, number));
    REQUIRE(received[i] == expected);
    ++totals.messages;
    totals.bytes += received[i].size();
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = impishim_test::rank_in(MPI_COMM_WORLD);
  const int size = impishim_test::size_of(MPI_COMM_WORLD);
  REQUIRE(argc == 4 || argc == 5);
  const auto messages = std::strtoull(argv[1], nullptr, 10);
  const auto bytes = std::strtoull(argv[2], nullptr, 10);
  const double seconds = std::strtod(argv[3], nullptr);
  std::printf("rank %d has pid %d\n", rank, static_cast<int>(getpid()));
  std::fflush(stdout);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) std::printf("soaking\n");
  std::fflush(stdout);
  Totals own;
  Totals all;
  const double begin = MPI_Wtime();
  for (std::uint64_t round = 0;; ++round) {
    exchange_round(rank, size, round, own);
    if (round % 16 != 0) continue;
    const bool wanted = MPI_Wtime() - begin < seconds || (argc == 5 && access(argv[4], F_OK) == 0);
    unsigned long long sums[3] = {own.messages, own.bytes, static_cast<unsigned long long>(wanted)};
    MPI_Allreduce(MPI_IN_PLACE, sums, 3, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    all = {sums[0], sums[1]};
    if (all.messages >= messages && all.bytes >= bytes && sums[2] == 0) break;
  }
  if (rank == 0)
    std::printf("soak: %llu messages, %llu bytes, all as they were sent\n",
                static_cast<unsigned long long>(all.messages),
                static_cast<unsigned long long>(all.bytes));
  MPI_Finalize();
  return 0;
}
