// SPDX-License-Identifier: Apache-2.0
// Short messages allocate nothing in steady state: every allocation of this process by operator new
// is counted, the library's included. Each lower rank exchanges messages with one of the upper
// half.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "tests/support/check.hpp"

namespace {
std::atomic<long> allocations{0};
}  // namespace

void* operator new(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*size*/) noexcept { std::free(memory); }

namespace {

constexpr int kTag = 3;
constexpr int kMessages = 200;
constexpr int kWindow = 64;

int rank = 0;
int partner = 0;
bool first = false;

void ping_pong() {
  long long data = 5;
  for (int i = 0; i < kMessages; ++i) {
    if (first) MPI_Send(&data, 1, MPI_LONG_LONG, partner, kTag, MPI_COMM_WORLD);
    MPI_Recv(&data, 1, MPI_LONG_LONG, partner, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!first) MPI_Send(&data, 1, MPI_LONG_LONG, partner, kTag, MPI_COMM_WORLD);
  }
}

void windows() {
  std::array<long long, kWindow> out{};
  std::array<long long, kWindow> in{};
  std::array<MPI_Request, 2 * kWindow> requests{};
  for (int window = 0; window < kMessages / 10; ++window) {
    for (int i = 0; i < kWindow; ++i) {
      const auto slot = static_cast<std::size_t>(i);
      MPI_Irecv(&in[slot], 1, MPI_LONG_LONG, partner, kTag, MPI_COMM_WORLD, &requests[2 * slot]);
      MPI_Isend(&out[slot], 1, MPI_LONG_LONG, partner, kTag, MPI_COMM_WORLD,
                &requests[2 * slot + 1]);
    }
    MPI_Waitall(2 * kWindow, requests.data(), MPI_STATUSES_IGNORE);
  }
}

void probed() {
  long long data = 5;
  for (int i = 0; i < kMessages; ++i) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Isend(&data, 1, MPI_LONG_LONG, partner, kTag, MPI_COMM_WORLD, &request);
    MPI_Status status;
    MPI_Probe(partner, kTag, MPI_COMM_WORLD, &status);
    long long received = 0;
    MPI_Recv(&received, 1, MPI_LONG_LONG, status.MPI_SOURCE, kTag, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

/// Queues and pools may still grow at first: some round allocates nothing, or none does.
long fewest_allocations(void (*exchange)()) {
  long fewest = -1;
  for (int round = 0; round < 20 && fewest != 0; ++round) {
    const long before = allocations.load();
    exchange();
    const long made = allocations.load() - before;
    fewest = fewest < 0 ? made : std::min(fewest, made);
    // Both go on as long as one has to.
    long either = 0;
    MPI_Sendrecv(&fewest, 1, MPI_LONG, partner, kTag, &either, 1, MPI_LONG, partner, kTag,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (fewest == 0 && either != 0) fewest = -1;
  }
  return fewest;
}

void report(const char* what, void (*exchange)()) {
  const long mine = fewest_allocations(exchange);
  long most = 0;
  MPI_Reduce(&mine, &most, 1, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) std::printf("%s: %ld allocations\n", what, most);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  rank = impishim_test::rank_in(MPI_COMM_WORLD);
  const int half = impishim_test::size_of(MPI_COMM_WORLD) / 2;
  first = rank < half;
  partner = first ? rank + half : rank - half;
  report("ping-pong", ping_pong);
  report("windows of nonblocking messages", windows);
  report("probed messages", probed);
  MPI_Finalize();
  return 0;
}
