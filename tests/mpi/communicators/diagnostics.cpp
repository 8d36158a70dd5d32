// SPDX-License-Identifier: Apache-2.0
// What a process tells of itself: traffic by hops, its state on request, by signal and in a stalled
// wait, statistics at the end. On 2 + 2 ranks, whose hosts ranks 0 and 2 represent.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "impishim/impishim.h"
#include "tests/support/check.hpp"

namespace {

constexpr int kMessages = 100;
constexpr int kBytes = 1000;
constexpr double kStallSeconds = 1.6;  // IMPISHIM_STALL_DUMP is 1

impishim_hops hops() {
  impishim_hops all;
  REQUIRE_EQUAL(impishim_get_hops(&all), MPI_SUCCESS);
  return all;
}

/// Three hops: rank 3, rank 2, rank 0, rank 1.
void count_hops(int rank) {
  // Before the barrier: who leaves it first may already send.
  const impishim_hops before = hops();
  MPI_Barrier(MPI_COMM_WORLD);
  std::vector<char> data(kBytes);
  for (int i = 0; i < kMessages; ++i) {
    if (rank == 3) MPI_Send(data.data(), kBytes, MPI_CHAR, 1, i, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(data.data(), kBytes, MPI_CHAR, 3, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const impishim_hops after = hops();
  const auto through = [&](impishim_hop impishim_hops::*hop) {
    const bool all_bytes = (after.*hop).bytes - (before.*hop).bytes >= 1ULL * kMessages * kBytes;
    return (after.*hop).packets - (before.*hop).packets >= kMessages && all_bytes;
  };
  REQUIRE(through(&impishim_hops::local_origin) == (rank == 3));
  REQUIRE(through(&impishim_hops::remote_relay) == (rank == 2));
  REQUIRE(through(&impishim_hops::remote_received) == (rank == 0));
  REQUIRE(through(&impishim_hops::local_relay) == (rank == 0));
  REQUIRE(through(&impishim_hops::local_received) == (rank == 1 || rank == 2));
  REQUIRE(!through(&impishim_hops::remote_origin));
  REQUIRE_EQUAL(impishim_get_hops(nullptr), MPI_ERR_ARG);
}

void be_asked(int rank) {
  int token = 0;
  if (rank == 1) {
    REQUIRE_EQUAL(std::raise(SIGUSR1), 0);
    MPI_Send(&token, 1, MPI_INT, 2, 0, MPI_COMM_WORLD);
    MPI_Recv(&token, 1, MPI_INT, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (rank == 2) {
    // On a loaded machine rank 1 may come here much later.
    MPI_Recv(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const double end = MPI_Wtime() + kStallSeconds;
    while (MPI_Wtime() < end) {
    }
    MPI_Send(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  } else if (rank == 3) {
    REQUIRE_EQUAL(impishim_dump_state(), MPI_SUCCESS);
  }
}

void read_statistics(int rank) {
  const char* prefix = std::getenv("IMPISHIM_STATS");
  if (prefix == nullptr) {
    std::fprintf(stderr, "IMPISHIM_STATS is not set\n");
    std::exit(98);
  }
  std::ifstream file(std::string(prefix) + "." + std::to_string(rank) + ".json");
  std::stringstream text;
  text << file.rdbuf();
  for (const char* name : {"\"rank\": ", "\"sent_local_relay\": {\"packets\": ",
                           "\"relay_bytes_peak\": ", "\"messages_sent\": "}) {
    if (text.str().find(name) != std::string::npos) continue;
    std::fprintf(stderr, "no %s in the statistics of rank %d: %s\n", name, rank,
                 text.str().c_str());
    std::exit(97);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = impishim_test::rank_in(MPI_COMM_WORLD);
  count_hops(rank);
  be_asked(rank);
  MPI_Finalize();
  read_statistics(rank);
  return 0;
}
