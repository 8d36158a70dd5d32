// SPDX-License-Identifier: Apache-2.0
// Everybody floods everybody with a shuffle's messages through relays, and every second rank is
// slow to take them. All arrive once, whole and in order, and no process has held more than the
// README's formula allows.
#include <cstdio>

#include "impishim/shuffle.h"
#include "tests/mpi/shuffle/inbox.hpp"
#include "tests/support/hosts.hpp"

namespace {

using impishim_test::Exchange;

constexpr unsigned kMessages = 1000;
constexpr double kPause = 0.0002;
constexpr std::size_t kLongest = 4000;
constexpr std::size_t kHeader = 16;

std::size_t bound(const impishim_shuffle_options& options) {
  const impishim_test::Queues queues = impishim_test::most_queues();
  constexpr std::size_t kMessage = kLongest + kHeader;
  const auto of_kind = [&](std::size_t count, unsigned maxrpc, unsigned buftarget) {
    return count * (maxrpc + 1) * (buftarget + kMessage);
  };
  return of_kind(queues.local, options.local_origin_maxrpc, options.local_origin_buftarget) +
         of_kind(queues.local, options.local_relay_maxrpc, options.local_relay_buftarget) +
         of_kind(queues.remote, options.remote_maxrpc, options.remote_buftarget) +
         options.deliverq_max * kMessage;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = impishim_test::rank_in(MPI_COMM_WORLD);
  impishim_shuffle_options options;
  REQUIRE_EQUAL(impishim_shuffle_options_init(&options), MPI_SUCCESS);
  Exchange exchange(rank % 2 == 1 ? kPause : 0, kLongest);
  for (unsigned type = 0; type < kMessages; ++type) exchange.send_to_all(type);
  impishim_shuffle* const shuffle = exchange.shuffle();
  for (const auto flush : {impishim_shuffle_flush_origin, impishim_shuffle_flush_remote,
                           impishim_shuffle_flush_relay}) {
    REQUIRE_EQUAL(flush(shuffle), MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  REQUIRE_EQUAL(impishim_shuffle_flush_delivery(shuffle), MPI_SUCCESS);
  impishim_shuffle_statistics statistics;
  REQUIRE_EQUAL(impishim_shuffle_get_statistics(shuffle, &statistics), MPI_SUCCESS);
  std::fprintf(stderr, "rank %d has held %llu bytes, of at most %zu\n", rank,
               statistics.held_bytes_peak, bound(options));
  REQUIRE(statistics.held_bytes_peak <= bound(options));
  REQUIRE_EQUAL(statistics.held_bytes, 0);
  exchange.end(kMessages);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) std::printf("shuffle flood: all delivered\n");
  MPI_Finalize();
  return 0;
}
