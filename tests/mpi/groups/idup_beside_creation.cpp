// SPDX-License-Identifier: Apache-2.0
// Duplications by MPI_Comm_idup are outstanding while other communicators are made by blocking
// calls: the ranks of a system have begun them at different moments, and must not wait for each
// other in the making of different communicators.
#include <cstdio>
#include <vector>

#include "tests/support/check.hpp"
#include "tests/support/members.hpp"

namespace {

using impishim_test::check_members;
using impishim_test::members_of;
using impishim_test::rank_in;
using impishim_test::size_of;

constexpr int kRounds = 8;

/// Ranks come to what follows at moments of their own.
void dawdle(int round) {
  const int rank = rank_in(MPI_COMM_WORLD);
  volatile int sink = 0;
  for (int i = 0; i < (rank + round) % size_of(MPI_COMM_WORLD) * 200000; ++i) sink = i;
  static_cast<void>(sink);
}

using Making = void (*)(MPI_Comm half, int round);

void make_intercommunicator(MPI_Comm half, int round) {
  const int rank = rank_in(MPI_COMM_WORLD);
  const int middle = size_of(MPI_COMM_WORLD) / 2;
  MPI_Comm bridge = MPI_COMM_NULL;
  MPI_Comm merged = MPI_COMM_NULL;
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank < middle ? middle : 0, 9, &bridge);
  dawdle(round);
  MPI_Intercomm_merge(bridge, rank < middle ? 0 : 1, &merged);
  check_members(merged, members_of(MPI_COMM_WORLD));
  MPI_Comm_free(&merged);
  MPI_Comm_free(&bridge);
}

/// Groups that have members in every system.
void make_mixed_intercommunicator(MPI_Comm, int round) {
  MPI_Comm part = MPI_COMM_NULL;
  const int rank = rank_in(MPI_COMM_WORLD);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &part);
  dawdle(round);
  MPI_Comm bridge = MPI_COMM_NULL;
  MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, 1 - rank % 2, 9, &bridge);
  MPI_Comm_free(&part);
  MPI_Comm_dup(bridge, &part);
  MPI_Comm_free(&part);
  MPI_Comm_free(&bridge);
}

void make_others(MPI_Comm, int round) {
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &made);
  dawdle(round);
  check_members(made, members_of(MPI_COMM_WORLD));
  MPI_Comm_free(&made);
  const int dims[] = {size_of(MPI_COMM_WORLD)};
  const int periods[] = {0};
  MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &made);
  MPI_Comm_free(&made);
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  MPI_Comm_create_group(MPI_COMM_WORLD, group, 3, &made);
  check_members(made, members_of(MPI_COMM_WORLD));
  MPI_Comm_free(&made);
  MPI_Group_free(&group);
}

/// Inside one system: the library of that system makes it alone.
void make_native(MPI_Comm, int round) {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  dawdle(round);
  MPI_Comm_dup(node, &made);
  check_members(made, members_of(node));
  MPI_Comm_free(&made);
  MPI_Comm_split(node, rank_in(node) % 2, 0, &made);
  MPI_Comm_free(&made);
  MPI_Comm_free(&node);
}

void check(MPI_Comm half, Making make) {
  for (int round = 0; round < kRounds; ++round) {
    std::vector<MPI_Comm> twins(2, MPI_COMM_NULL);
    std::vector<MPI_Request> requests(2, MPI_REQUEST_NULL);
    dawdle(round);
    for (std::size_t i = 0; i < twins.size(); ++i)
      MPI_Comm_idup(MPI_COMM_WORLD, &twins[i], &requests[i]);
    dawdle(2 * round + 1);
    make(half, round);
    for (int done = 0; round % 2 != 0 && done == 0;)
      MPI_Testall(2, requests.data(), &done, MPI_STATUSES_IGNORE);
    MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
    for (MPI_Comm& twin : twins) {
      check_members(twin, members_of(MPI_COMM_WORLD));
      MPI_Comm_free(&twin);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm half = MPI_COMM_NULL;
  const int rank = rank_in(MPI_COMM_WORLD);
  MPI_Comm_split(MPI_COMM_WORLD, rank < size_of(MPI_COMM_WORLD) / 2 ? 0 : 1, rank, &half);
  check(half, make_intercommunicator);
  check(half, make_mixed_intercommunicator);
  check(half, make_others);
  check(half, make_native);
  MPI_Comm_free(&half);
  if (rank == 0)
    std::printf("communicators made beside duplications on %d ranks: right\n",
                size_of(MPI_COMM_WORLD));
  MPI_Finalize();
}
