// SPDX-License-Identifier: Apache-2.0
// Collectives while point-to-point messages are in progress that only this process's progress can
// bring to an end.
#include <mpi.h>

#include <vector>

#include "communicators.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

/// A synchronous send meets a wildcard receive whose process is in a barrier already.
void check_wildcard_meets_barrier(MPI_Comm comm, const char* /*name*/) {
  const int rank = rank_in(comm);
  const int size = size_of(comm);
  for (int receiver = 0; receiver < size; ++receiver) {
    for (int sender = 0; sender < size; ++sender) {
      if (sender == receiver) continue;
      int number = -1;
      MPI_Request request = MPI_REQUEST_NULL;
      if (rank == receiver) MPI_Irecv(&number, 1, MPI_INT, MPI_ANY_SOURCE, 7, comm, &request);
      if (rank == sender) MPI_Ssend(&rank, 1, MPI_INT, receiver, 7, comm);
      MPI_Barrier(comm);
      int sum = 0;
      MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
      REQUIRE_EQUAL(sum, size * (size - 1) / 2);
      if (rank != receiver) continue;
      MPI_Status status;
      MPI_Wait(&request, &status);
      REQUIRE_EQUAL(number, sender);
      REQUIRE_EQUAL(status.MPI_SOURCE, sender);
    }
  }
}

/// Long messages from everybody to everybody are on their way meanwhile, and keep apart from the
/// collectives' own.
void check_long_messages(MPI_Comm comm, const char* /*name*/) {
  const int rank = rank_in(comm);
  const int size = size_of(comm);
  constexpr int kCount = 100000;
  std::vector<std::vector<int>> in(static_cast<std::size_t>(size), std::vector<int>(kCount, -1));
  const std::vector<int> out(kCount, rank);
  std::vector<MPI_Request> requests(2 * static_cast<std::size_t>(size));
  for (int other = 0; other < size; ++other) {
    MPI_Irecv(in[static_cast<std::size_t>(other)].data(), kCount, MPI_INT, other, 110, comm,
              &requests[2 * other]);
    MPI_Isend(out.data(), kCount, MPI_INT, other, 110, comm, &requests[2 * other + 1]);
  }
  for (int root = 0; root < size; ++root) {
    std::vector<int> data(kCount, rank == root ? root : -1);
    MPI_Bcast(data.data(), kCount, MPI_INT, root, comm);
    REQUIRE_EQUAL(data.front(), root);
    REQUIRE_EQUAL(data.back(), root);
    MPI_Barrier(comm);
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  for (int other = 0; other < size; ++other) {
    REQUIRE_EQUAL(in[static_cast<std::size_t>(other)].front(), other);
    REQUIRE_EQUAL(in[static_cast<std::size_t>(other)].back(), other);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  impishim_test::on_each_communicator(check_wildcard_meets_barrier);
  impishim_test::on_each_communicator(check_long_messages);
  return impishim_test::finish("with point-to-point");
}
