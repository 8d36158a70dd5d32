// SPDX-License-Identifier: Apache-2.0
// MPI_Isendrecv and MPI_Isendrecv_replace around a ring: waited for, tested, several at once, with
// MPI_PROC_NULL on one side.
#include <mpi.h>

#include <array>
#include <cstdio>
#include <vector>

#include "tests/support/check.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

const MPI_Comm kWorld = MPI_COMM_WORLD;

int next() { return (rank_in(kWorld) + 1) % size_of(kWorld); }
int before() { return (rank_in(kWorld) + size_of(kWorld) - 1) % size_of(kWorld); }

void check_around_the_ring(int count) {
  const std::vector<int> out(static_cast<std::size_t>(count), rank_in(kWorld));
  std::vector<int> in(out.size(), -1);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Isendrecv(out.data(), count, MPI_INT, next(), 1, in.data(), count, MPI_INT, before(), 1,
                kWorld, &request);
  MPI_Status status;
  MPI_Wait(&request, &status);
  REQUIRE(request == MPI_REQUEST_NULL);
  REQUIRE_EQUAL(status.MPI_SOURCE, before());
  for (const int each : in) REQUIRE_EQUAL(each, before());
}

void check_replace(int count) {
  std::vector<int> data(static_cast<std::size_t>(count), rank_in(kWorld));
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Isendrecv_replace(data.data(), count, MPI_INT, next(), 2, before(), 2, kWorld, &request);
  int flag = 0;
  MPI_Status status;
  while (flag == 0) MPI_Test(&request, &flag, &status);
  REQUIRE_EQUAL(status.MPI_TAG, 2);
  for (const int each : data) REQUIRE_EQUAL(each, before());
}

void check_several_at_once() {
  std::array<int, 8> in{};
  std::array<MPI_Request, 8> requests{};
  const int rank = rank_in(kWorld);
  for (int i = 0; i < 8; ++i)
    MPI_Isendrecv(&rank, 1, MPI_INT, next(), i, &in[static_cast<std::size_t>(i)], 1, MPI_INT,
                  MPI_ANY_SOURCE, i, kWorld, &requests[static_cast<std::size_t>(i)]);
  MPI_Waitall(8, requests.data(), MPI_STATUSES_IGNORE);
  for (const int each : in) REQUIRE_EQUAL(each, before());
}

/// Of messages that no receive from any source of the function before may take.
constexpr int kOther = 100;

/// The first rank sends nothing, and the last receives nothing.
void check_open_ends() {
  const int rank = rank_in(kWorld);
  const int last = size_of(kWorld) - 1;
  int value = -1;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Isendrecv(&rank, 1, MPI_INT, rank == 0 ? MPI_PROC_NULL : rank - 1, kOther, &value, 1, MPI_INT,
                rank == last ? MPI_PROC_NULL : rank + 1, kOther, kWorld, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  REQUIRE_EQUAL(value, rank == last ? -1 : rank + 1);
}

}  // namespace

int main() {
  MPI_Init(nullptr, nullptr);
  for (const int count : {0, 1, 1000, 100000}) {
    check_around_the_ring(count);
    check_replace(count);
  }
  check_several_at_once();
  check_open_ends();
  std::printf("rank %d of %d: right\n", rank_in(kWorld), size_of(kWorld));
  MPI_Finalize();
  return 0;
}
