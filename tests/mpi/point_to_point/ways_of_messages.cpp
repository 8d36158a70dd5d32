// SPDX-License-Identifier: Apache-2.0
// Each rank sends messages to each rank of another system; rank 0 prints which way they took, by
// the counters of all ranks.
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include "impishim/impishim.h"
#include "tests/support/check.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

/// Many more than the packets of the barriers around them.
constexpr int kMessages = 200;

/// Packets of one kind that this rank has counted.
enum Kind { kSentToHost, kPassedInHost, kSentAcross, kPassedAcross, kKinds };

std::vector<unsigned long long> counted() {
  impishim_hops hops{};
  if (impishim_get_hops != nullptr) impishim_get_hops(&hops);
  return {hops.local_origin.packets, hops.local_relay.packets, hops.remote_origin.packets,
          hops.remote_relay.packets};
}

int system_of_rank() {
  int* value = nullptr;
  int found = 0;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int code =
      MPI_Comm_get_attr(MPI_COMM_WORLD, IMPI_CLIENT_COLOR, static_cast<void*>(&value), &found);
  return code == MPI_SUCCESS && found != 0 ? *value : 0;
}

void send_messages(int from, int to) {
  const int rank = rank_in(MPI_COMM_WORLD);
  for (int i = 0; i < kMessages; ++i) {
    int value = i;
    if (rank == from) MPI_Send(&value, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
    if (rank != to) continue;
    MPI_Recv(&value, 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    REQUIRE_EQUAL(value, i);
  }
}

/// Returns on rank 0, for each rank, the kinds of which it has counted a packet for each message.
std::vector<int> observe(int from, int to) {
  // Before the barrier: a representative may pass messages on before it has left it.
  const auto before = counted();
  MPI_Barrier(MPI_COMM_WORLD);
  send_messages(from, to);
  MPI_Barrier(MPI_COMM_WORLD);
  const auto after = counted();
  std::vector<int> mine(kKinds);
  for (std::size_t kind = 0; kind < kKinds; ++kind)
    mine[kind] = after[kind] - before[kind] >= kMessages ? 1 : 0;
  std::vector<int> all(static_cast<std::size_t>(kKinds * size_of(MPI_COMM_WORLD)));
  MPI_Gather(mine.data(), kKinds, MPI_INT, all.data(), kKinds, MPI_INT, 0, MPI_COMM_WORLD);
  return all;
}

/// Returns the rank that has counted packets of a kind, or -1.
int rank_with(const std::vector<int>& all, Kind kind) {
  for (std::size_t at = static_cast<std::size_t>(kind); at < all.size(); at += kKinds) {
    if (all[at] != 0) return static_cast<int>(at / kKinds);
  }
  return -1;
}

std::string way_of(const std::vector<int>& all, int from, int to) {
  std::string way = "rank " + std::to_string(from);
  int hops = 1;
  for (const Kind kind : {kPassedAcross, kPassedInHost}) {
    const int relay = rank_with(all, kind);
    if (relay < 0) continue;
    way += ", representative " + std::to_string(relay);
    ++hops;
  }
  // The first hop of a message is one or the other.
  const bool relayed = rank_with(all, kSentToHost) == from;
  REQUIRE_EQUAL(relayed, rank_with(all, kPassedAcross) >= 0);
  REQUIRE_EQUAL(relayed, rank_with(all, kSentAcross) != from);
  return way + ", rank " + std::to_string(to) + ": " + std::to_string(hops) +
         (hops == 1 ? " hop" : " hops");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int size = size_of(MPI_COMM_WORLD);
  std::vector<int> systems(static_cast<std::size_t>(size));
  const int mine = system_of_rank();
  MPI_Allgather(&mine, 1, MPI_INT, systems.data(), 1, MPI_INT, MPI_COMM_WORLD);
  for (int from = 0; from < size; ++from) {
    for (int to = 0; to < size; ++to) {
      if (systems[static_cast<std::size_t>(from)] == systems[static_cast<std::size_t>(to)])
        continue;
      const std::vector<int> all = observe(from, to);
      if (rank_in(MPI_COMM_WORLD) == 0) std::printf("%s\n", way_of(all, from, to).c_str());
    }
  }
  MPI_Finalize();
}
