// SPDX-License-Identifier: Apache-2.0
// Collectives that MPICH calls erroneous, under MPI_ERRORS_RETURN: all ranks are told the class,
// none waits for another, and the communicator works as before. Blocks that are sent from where
// others are received, once a hang; operations without a meaning for the datatype, once noticed by
// those ranks only that combine. For joined jobs: Open MPI notices few of them, and MPICH not all.
#include <mpi.h>

#include <array>
#include <vector>

#include "communicators.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

void require_class(int code, int expected) {
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  REQUIRE_EQUAL(error_class, expected);
}

struct Blocks {
  explicit Blocks(int size)
      : data(static_cast<std::size_t>(2 * size)),
        counts(static_cast<std::size_t>(size), 2),
        bytes(counts),
        places(counts),
        types(static_cast<std::size_t>(size), MPI_INT) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      places[i] = 2 * static_cast<int>(i);
      bytes[i] = places[i] * static_cast<int>(sizeof(int));
    }
  }
  [[nodiscard]] int* own(int rank) { return &data[static_cast<std::size_t>(2 * rank)]; }
  std::vector<int> data;
  std::vector<int> counts;
  std::vector<int> bytes;
  std::vector<int> places;
  std::vector<MPI_Datatype> types;
};

/// Of all ranks. `b` has a block for each rank, from and to which all is sent.
void check_all_to_all(MPI_Comm comm, Blocks& b) {
  int* all = b.data.data();
  int* own = b.own(rank_in(comm));
  const int* counts = b.counts.data();
  const int* places = b.places.data();
  MPI_Request request = MPI_REQUEST_NULL;
  require_class(MPI_Allgather(own, 2, MPI_INT, all, 2, MPI_INT, comm), MPI_ERR_BUFFER);
  require_class(MPI_Allgatherv(own, 2, MPI_INT, all, counts, places, MPI_INT, comm),
                MPI_ERR_BUFFER);
  require_class(MPI_Alltoall(all, 2, MPI_INT, all, 2, MPI_INT, comm), MPI_ERR_BUFFER);
  require_class(MPI_Alltoallv(all, counts, places, MPI_INT, all, counts, places, MPI_INT, comm),
                MPI_ERR_BUFFER);
  require_class(MPI_Alltoallw(all, counts, b.bytes.data(), b.types.data(), all, counts,
                              b.bytes.data(), b.types.data(), comm),
                MPI_ERR_BUFFER);
  require_class(MPI_Iallgatherv(own, 2, MPI_INT, all, counts, places, MPI_INT, comm, &request),
                MPI_ERR_BUFFER);
  require_class(
      MPI_Ialltoallv(all, counts, places, MPI_INT, all, counts, places, MPI_INT, comm, &request),
      MPI_ERR_BUFFER);
}

/// Of the root alone: it is told at once, as by MPICH, whatever the others do.
void check_rooted(MPI_Comm comm, Blocks& b) {
  const int root = rank_in(comm);
  int* all = b.data.data();
  int* own = b.own(root);
  const int* counts = b.counts.data();
  const int* places = b.places.data();
  require_class(MPI_Gather(own, 2, MPI_INT, all, 2, MPI_INT, root, comm), MPI_ERR_BUFFER);
  require_class(MPI_Gatherv(own, 2, MPI_INT, all, counts, places, MPI_INT, root, comm),
                MPI_ERR_BUFFER);
  require_class(MPI_Scatter(all, 2, MPI_INT, own, 2, MPI_INT, root, comm), MPI_ERR_BUFFER);
  require_class(MPI_Scatterv(all, counts, places, MPI_INT, own, 2, MPI_INT, root, comm),
                MPI_ERR_BUFFER);
}

/// What only looks alike is no error: blocks of nothing.
void check_empty_blocks(MPI_Comm comm, Blocks& b) {
  const std::vector<int> none(b.counts.size(), 0);
  int* all = b.data.data();
  REQUIRE_EQUAL(MPI_Alltoallv(all, none.data(), b.places.data(), MPI_INT, all, none.data(),
                              b.places.data(), MPI_INT, comm),
                MPI_SUCCESS);
  REQUIRE_EQUAL(MPI_Allgather(all, 0, MPI_INT, all, 0, MPI_INT, comm), MPI_SUCCESS);
}

void check_operations(MPI_Comm comm) {
  std::array<double, 8> in{};
  std::array<double, 8> out{};
  MPI_Datatype pair = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  struct Misfit {
    MPI_Datatype type;
    MPI_Op op;
  };
  for (const auto& [type, op] : {Misfit{MPI_DOUBLE, MPI_BAND}, Misfit{MPI_FLOAT, MPI_LAND},
                                 Misfit{MPI_INT, MPI_MINLOC}, Misfit{MPI_C_DOUBLE_COMPLEX, MPI_MAX},
                                 Misfit{MPI_DOUBLE_INT, MPI_SUM}, Misfit{pair, MPI_SUM}}) {
    require_class(MPI_Allreduce(in.data(), out.data(), 1, type, op, comm), MPI_ERR_OP);
    require_class(MPI_Reduce(in.data(), out.data(), 1, type, op, 0, comm), MPI_ERR_OP);
    require_class(MPI_Scan(in.data(), out.data(), 1, type, op, comm), MPI_ERR_OP);
  }
  MPI_Type_free(&pair);
}

void check(MPI_Comm comm, const char* /*name*/) {
  Blocks b(size_of(comm));
  check_all_to_all(comm, b);
  check_rooted(comm, b);
  check_empty_blocks(comm, b);
  check_operations(comm);
  const int one = 1;
  int sum = 0;
  REQUIRE_EQUAL(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm), MPI_SUCCESS);
  REQUIRE_EQUAL(sum, size_of(comm));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  impishim_test::on_each_communicator(check);
  return impishim_test::finish("erroneous collectives");
}
