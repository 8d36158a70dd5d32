// SPDX-License-Identifier: Apache-2.0
// MPI_Comm_idup of MPI_COMM_SELF, and communicators with one member in a system, are made while the
// process has duplications in progress, with no other thread that would complete them. So many
// communicators exist that MPICH 4.0.2 lets the duplications take turns.
#include <cstddef>
#include <cstdio>
#include <vector>

#include "tests/support/check.hpp"
#include "tests/support/members.hpp"

namespace {

using impishim_test::check_members;
using impishim_test::members_of;
using impishim_test::rank_in;
using impishim_test::size_of;

constexpr int kRounds = 20;
constexpr double kPollSeconds = 0.003;
/// More than the 64 context ids for which MPICH needs no turns.
constexpr std::size_t kCommunicators = 80;

void compute_for(double seconds) {
  const double end = MPI_Wtime() + seconds;
  while (MPI_Wtime() < end) {
  }
}

void test_for(double seconds, std::vector<MPI_Request>& requests) {
  const double end = MPI_Wtime() + seconds;
  for (int done = 0; MPI_Wtime() < end;)
    MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
}

void duplicate_self() {
  MPI_Comm self = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  REQUIRE_EQUAL(MPI_Comm_idup(MPI_COMM_SELF, &self, &request), MPI_SUCCESS);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  check_members(self, members_of(MPI_COMM_SELF));
  MPI_Comm_free(&self);
}

/// Makes communicators that have one member in each system of two.
void split_systems() {
  MPI_Comm made = MPI_COMM_NULL;
  const int rank = rank_in(MPI_COMM_WORLD);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &made);
  REQUIRE_EQUAL(size_of(made), size_of(MPI_COMM_WORLD) / 2);
  MPI_Comm_free(&made);
}

/// If a process polls for its turn while the other one does not, its duplications are under way
/// when it duplicates MPI_COMM_SELF.
void duplicate_beside(const std::vector<MPI_Comm>& parents, bool polls, void (*make)()) {
  std::vector<MPI_Comm> made(parents.size(), MPI_COMM_NULL);
  std::vector<MPI_Request> requests(parents.size(), MPI_REQUEST_NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  for (std::size_t i = 0; i < parents.size(); ++i)
    MPI_Comm_idup(parents[i], &made[i], &requests[i]);
  if (polls) {
    test_for(kPollSeconds, requests);
  } else {
    compute_for(2 * kPollSeconds);
  }
  make();
  MPI_Waitall(static_cast<int>(parents.size()), requests.data(), MPI_STATUSES_IGNORE);
  for (std::size_t i = 0; i < parents.size(); ++i) {
    check_members(made[i], members_of(parents[i]));
    MPI_Comm_free(&made[i]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  int provided = -1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  REQUIRE_EQUAL(provided, MPI_THREAD_MULTIPLE);
  std::vector<MPI_Comm> kept(kCommunicators, MPI_COMM_NULL);
  for (MPI_Comm& each : kept) MPI_Comm_dup(MPI_COMM_SELF, &each);
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm twin = MPI_COMM_NULL;
  MPI_Comm_dup(node, &twin);
  for (int round = 0; round < kRounds; ++round) {
    const bool polls = (rank_in(node) + round) % 2 == 0;
    duplicate_beside({node, MPI_COMM_WORLD, twin}, polls, duplicate_self);
    duplicate_beside({node, twin}, polls, split_systems);
  }
  MPI_Comm_free(&twin);
  MPI_Comm_free(&node);
  for (MPI_Comm& each : kept) MPI_Comm_free(&each);
  if (rank_in(MPI_COMM_WORLD) == 0)
    std::printf("%d ranks duplicated MPI_COMM_SELF\n", size_of(MPI_COMM_WORLD));
  MPI_Finalize();
}
