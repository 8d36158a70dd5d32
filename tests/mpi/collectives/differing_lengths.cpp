// SPDX-License-Identifier: Apache-2.0
// MPI_Bcast with another length on one rank, under MPI_ERRORS_RETURN: that rank is told
// MPI_ERR_TRUNCATE for too little room and MPI_ERR_OTHER for less than it asked for, as MPICH does;
// nobody waits for ever, nothing is written behind a buffer, and the communicator works as before.
// Where the root's differs, all others are told. For joined jobs: Open MPI by itself waits for ever
// in some of these calls.
#include <mpi.h>

#include <cstdlib>
#include <vector>

#include "communicators.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

constexpr double kUntouched = -7;

int class_of(int code) {
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  return error_class;
}

/// The communicator's next collectives get nobody else's messages.
void require_usable(MPI_Comm comm, int root) {
  const int one = 1;
  int sum = 0;
  REQUIRE_EQUAL(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm), MPI_SUCCESS);
  REQUIRE_EQUAL(sum, size_of(comm));
  for (const std::size_t length : {std::size_t{5}, std::size_t{100000}}) {
    std::vector<double> data(length, rank_in(comm) == root ? 3 : 0);
    REQUIRE_EQUAL(MPI_Bcast(data.data(), static_cast<int>(length), MPI_DOUBLE, root, comm),
                  MPI_SUCCESS);
    for (const double value : data) REQUIRE_EQUAL(value, 3);
  }
  REQUIRE_EQUAL(MPI_Barrier(comm), MPI_SUCCESS);
}

struct Lengths {
  int most;  ///< of all ranks but one
  int odd;
};

/// The class of those who ask for `asked` elements where `sent` are sent; the others' may be the
/// same.
void broadcast(MPI_Comm comm, const Lengths& lengths, int odd_rank, int root, bool told_exactly) {
  constexpr std::size_t kGuard = 4096;
  const int rank = rank_in(comm);
  const auto length_of = [&](int member) {
    return member == odd_rank ? lengths.odd : lengths.most;
  };
  const int asked = length_of(rank);
  const int sent = length_of(root);
  std::vector<double> data(static_cast<std::size_t>(asked) + kGuard, kUntouched);
  if (rank == root) data.assign(data.size(), 1);
  const int told = class_of(MPI_Bcast(data.data(), asked, MPI_DOUBLE, root, comm));
  if (rank != root) {
    for (std::size_t i = static_cast<std::size_t>(asked); i < data.size(); ++i)
      REQUIRE_EQUAL(data[i], kUntouched);
  }
  if (asked > sent && told_exactly) REQUIRE_EQUAL(told, MPI_ERR_OTHER);
  if (asked < sent && told_exactly) REQUIRE_EQUAL(told, MPI_ERR_TRUNCATE);
  if (asked == sent && told == MPI_SUCCESS) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(asked); ++i) REQUIRE_EQUAL(data[i], 1);
  }
  if (rank == root && told_exactly) REQUIRE_EQUAL(told, MPI_SUCCESS);
  require_usable(comm, root);
}

}  // namespace

/// `first`: the first rank of another system than rank 0's, which is the root.
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  REQUIRE_EQUAL(argc, 2);
  const int first = std::atoi(argv[1]);
  const MPI_Comm comm = MPI_COMM_WORLD;
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  for (const Lengths& lengths :
       {Lengths{8, 11}, Lengths{8, 5}, Lengths{8, 0}, Lengths{8192, 8191}, Lengths{8192, 8193},
        Lengths{100000, 99999}, Lengths{100000, 150000}, Lengths{100000, 50000},
        Lengths{81920, 8192}, Lengths{81920, 8193}, Lengths{100000, 3}, Lengths{3, 100000}}) {
    for (int odd = first; odd < size_of(comm); ++odd) broadcast(comm, lengths, odd, 0, true);
  }
  return impishim_test::finish("differing lengths");
}
