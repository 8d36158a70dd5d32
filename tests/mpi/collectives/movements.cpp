// SPDX-License-Identifier: Apache-2.0
// MPI_Barrier, MPI_Bcast, MPI_Gather and MPI_Allgather: all roots, in place and not, different
// datatypes on the ranks, blocks of nothing to a megabyte.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "communicators.hpp"

namespace {

using impishim_test::on_each_communicator;
using impishim_test::rank_in;
using impishim_test::size_of;

/// Doubles on even ranks; on odd ones a type with gaps, whose elements overlap in memory range
/// without sharing bytes.
struct Layout {
  MPI_Datatype type = MPI_DOUBLE;
  int elements = 0;  ///< of `type`
  std::vector<int> places;
  int room = 0;  ///< doubles that one block spans

  Layout(int rank, int count) {
    if (rank % 2 == 0) {
      elements = count;
      for (int i = 0; i < count; ++i) places.push_back(i);
      room = count;
      return;
    }
    // One element: a column of `count` rows of a matrix with three columns.
    MPI_Datatype column = MPI_DATATYPE_NULL;
    MPI_Type_vector(count, 1, 3, MPI_DOUBLE, &column);
    MPI_Type_create_resized(column, 0, 3L * count * static_cast<MPI_Aint>(sizeof(double)), &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&column);
    elements = 1;
    for (int i = 0; i < count; ++i) places.push_back(3 * i);
    room = 3 * count;
  }
  ~Layout() {
    if (type != MPI_DOUBLE) MPI_Type_free(&type);
  }
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;
};

double value(int rank, int i, int turn) { return 1000000.0 * turn + 10000.0 * rank + i; }

void write_block(std::vector<double>& memory, const Layout& layout, int block, int rank, int turn) {
  for (std::size_t i = 0; i < layout.places.size(); ++i) {
    memory[static_cast<std::size_t>(block) * layout.room + layout.places[i]] =
        value(rank, static_cast<int>(i), turn);
  }
}

void expect_block(const std::vector<double>& memory, const Layout& layout, int block, int rank,
                  int turn) {
  std::vector<double> expected(static_cast<std::size_t>(layout.room), -1.0);
  write_block(expected, layout, 0, rank, turn);
  for (int i = 0; i < layout.room; ++i)
    REQUIRE(memory[static_cast<std::size_t>(block) * layout.room + i] == expected[i]);
}

void check_bcast(MPI_Comm comm, int count) {
  const int rank = rank_in(comm);
  const Layout layout(rank, count);
  for (int root = 0; root < size_of(comm); ++root) {
    std::vector<double> memory(static_cast<std::size_t>(layout.room), -1.0);
    if (rank == root) write_block(memory, layout, 0, root, root);
    REQUIRE(MPI_Bcast(memory.data(), layout.elements, layout.type, root, comm) == MPI_SUCCESS);
    expect_block(memory, layout, 0, root, root);
  }
}

void check_gather(MPI_Comm comm, int count, bool in_place) {
  const int rank = rank_in(comm);
  const int size = size_of(comm);
  const Layout send(rank, count);
  const Layout receive(rank / 2, count);  // another type than that sent, on some ranks
  std::vector<double> mine(static_cast<std::size_t>(send.room), -1.0);
  for (int root = 0; root < size; ++root) {
    write_block(mine, send, 0, rank, root);
    std::vector<double> all(static_cast<std::size_t>(receive.room) * size, -1.0);
    if (rank != root) {
      REQUIRE(MPI_Gather(mine.data(), send.elements, send.type, nullptr, -1, MPI_DATATYPE_NULL,
                         root, comm) == MPI_SUCCESS);
      continue;
    }
    if (in_place) write_block(all, receive, root, root, root);
    const void* from = in_place ? MPI_IN_PLACE : mine.data();
    REQUIRE(MPI_Gather(from, send.elements, send.type, all.data(), receive.elements, receive.type,
                       root, comm) == MPI_SUCCESS);
    for (int other = 0; other < size; ++other) expect_block(all, receive, other, other, root);
  }
}

void check_allgather(MPI_Comm comm, int count, bool in_place) {
  const int rank = rank_in(comm);
  const int size = size_of(comm);
  const Layout send(rank, count);
  const Layout receive(rank / 2, count);
  std::vector<double> mine(static_cast<std::size_t>(send.room), -1.0);
  write_block(mine, send, 0, rank, 5);
  std::vector<double> all(static_cast<std::size_t>(receive.room) * size, -1.0);
  if (in_place) write_block(all, receive, rank, rank, 5);
  const void* from = in_place ? MPI_IN_PLACE : mine.data();
  REQUIRE(MPI_Allgather(from, send.elements, send.type, all.data(), receive.elements, receive.type,
                        comm) == MPI_SUCCESS);
  for (int other = 0; other < size; ++other) expect_block(all, receive, other, other, 5);
}

/// Nobody leaves a barrier before everybody has entered: told by the machine's clock, which all
/// ranks share.
void check_barrier(MPI_Comm comm) {
  using Clock = std::chrono::steady_clock;
  const int size = size_of(comm);
  for (int late = 0; late < size; ++late) {
    if (rank_in(comm) == late) {
      const auto until = Clock::now() + std::chrono::milliseconds(3);
      while (Clock::now() < until) continue;
    }
    const long long entered = Clock::now().time_since_epoch().count();
    REQUIRE(MPI_Barrier(comm) == MPI_SUCCESS);
    const long long left = Clock::now().time_since_epoch().count();
    std::vector<long long> all(static_cast<std::size_t>(size));
    MPI_Allgather(&entered, 1, MPI_LONG_LONG, all.data(), 1, MPI_LONG_LONG, comm);
    REQUIRE(*std::max_element(all.begin(), all.end()) <= left);
  }
}

/// Operations on one communicator and then another keep apart.
void check_many_in_a_row(MPI_Comm comm) {
  const int size = size_of(comm);
  for (int turn = 0; turn < 200; ++turn) {
    int number = rank_in(comm) == turn % size ? turn : -1;
    MPI_Bcast(&number, 1, MPI_INT, turn % size, comm);
    REQUIRE_EQUAL(number, turn);
    int sum = 0;
    MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, comm);
    REQUIRE_EQUAL(sum, turn * size);
    if (turn % 10 == 0) MPI_Barrier(comm);
  }
}

void check_all(MPI_Comm comm, const char* /*name*/) {
  check_barrier(comm);
  for (const int count : {1, 2, 127, 128, 10000, 131072}) {
    check_bcast(comm, count);
    for (const bool in_place : {false, true}) {
      check_gather(comm, count, in_place);
      check_allgather(comm, count, in_place);
    }
  }
  int nothing = 17;
  REQUIRE(MPI_Bcast(&nothing, 0, MPI_INT, 0, comm) == MPI_SUCCESS);
  REQUIRE(MPI_Gather(nullptr, 0, MPI_INT, nullptr, 0, MPI_INT, 0, comm) == MPI_SUCCESS);
  REQUIRE(MPI_Allgather(nullptr, 0, MPI_INT, nullptr, 0, MPI_INT, comm) == MPI_SUCCESS);
  REQUIRE_EQUAL(nothing, 17);
  check_many_in_a_row(comm);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  on_each_communicator(check_all);
  return impishim_test::finish("movements");
}
