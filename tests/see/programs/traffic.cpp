// SPDX-License-Identifier: Apache-2.0
// A program whose messages are known, for the statistics: four ranks in two systems of two.
//
//   traffic          the messages that traffic_test.py counts
//   traffic long     then each rank sends three messages of 200000 bytes to the other system
//   traffic late     then system 0 comes late to each of ten MPI_Allreduce, by 20 ms
#include <mpi.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "tests/support/check.hpp"

namespace {

constexpr int kSize = 4;

/// Sends three messages of 100 bytes to each other rank.
void exchange_with_all(int rank) {
  constexpr int kMessages = 3;
  constexpr int kBytes = 100;
  std::array<char, kBytes> out{};
  std::vector<std::array<char, kBytes>> in;
  in.resize(static_cast<std::size_t>(kMessages) * kSize);
  std::vector<MPI_Request> requests;
  for (int peer = 0; peer < kSize; ++peer) {
    for (int i = 0; i < kMessages && peer != rank; ++i) {
      char* place = in[static_cast<std::size_t>(peer * kMessages + i)].data();
      MPI_Irecv(place, kBytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &requests.emplace_back());
      MPI_Isend(out.data(), kBytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &requests.emplace_back());
    }
  }
  REQUIRE(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE) ==
          MPI_SUCCESS);
}

/// Sends seven doubles to the next rank.
void pass_on(int rank, MPI_Comm comm) {
  std::array<double, 7> out{};
  std::array<double, 7> in{};
  MPI_Sendrecv(out.data(), 7, MPI_DOUBLE, (rank + 1) % kSize, 1, in.data(), 7, MPI_DOUBLE,
               (rank + kSize - 1) % kSize, 1, comm, MPI_STATUS_IGNORE);
}

/// Sends 1000 bytes five times, with a persistent request, to a rank of the other system; then
/// once, to a persistent receive that may have the handle of that request.
void send_persistently(int rank) {
  constexpr int kBytes = 1000;
  std::vector<char> out(kBytes);
  std::vector<char> in(kBytes);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Send_init(out.data(), kBytes, MPI_BYTE, (rank + 2) % kSize, 2, MPI_COMM_WORLD, &request);
  for (int i = 0; i < 5; ++i) {
    MPI_Start(&request);
    MPI_Recv(in.data(), kBytes, MPI_BYTE, (rank + 2) % kSize, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&request);
  MPI_Recv_init(in.data(), kBytes, MPI_BYTE, (rank + 2) % kSize, 2, MPI_COMM_WORLD, &request);
  MPI_Start(&request);
  MPI_Send(out.data(), kBytes, MPI_BYTE, (rank + 2) % kSize, 2, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
}

/// Sends a long message inside the system, on a communicator of its own.
void send_inside(int rank) {
  constexpr int kBytes = 1 << 20;
  MPI_Comm system = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, 0, &system);
  std::vector<char> bytes(kBytes);
  if (rank % 2 == 0) {
    MPI_Send(bytes.data(), kBytes, MPI_BYTE, 1, 3, system);
  } else {
    MPI_Recv(bytes.data(), kBytes, MPI_BYTE, 0, 3, system, MPI_STATUS_IGNORE);
  }
  for (int i = 0; i < 4; ++i) MPI_Barrier(system);
  MPI_Comm_free(&system);
}

void send_long_messages(int rank) {
  constexpr int kBytes = 200000;
  const std::vector<char> out(kBytes);
  std::vector<char> in(kBytes);
  const int peer = (rank + 2) % kSize;
  for (int i = 0; i < 3; ++i)
    MPI_Sendrecv(out.data(), kBytes, MPI_BYTE, peer, 4, in.data(), kBytes, MPI_BYTE, peer, 4,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

void compute(std::chrono::milliseconds duration) {
  const auto end = std::chrono::steady_clock::now() + duration;
  while (std::chrono::steady_clock::now() < end) {
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::set<std::string> modes(argv + 1, argv + argc);
  const bool late = modes.contains("late");
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  REQUIRE(size == kSize);
  exchange_with_all(rank);
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  pass_on(rank, copy);
  MPI_Comm_free(&copy);
  send_persistently(rank);
  send_inside(rank);
  if (modes.contains("long")) send_long_messages(rank);
  for (int i = 0; i < 10; ++i) {
    if (late && rank / 2 == 0) compute(std::chrono::milliseconds(20));
    int sum = 0;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    REQUIRE(sum == 6);
  }
  MPI_Finalize();
  return 0;
}
