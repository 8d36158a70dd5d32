// SPDX-License-Identifier: Apache-2.0
// The ranks' data interleaves in the file, again and again: no write may touch what others write,
// not even by reading it and writing it back.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tests/mpi/files/shared_file.hpp"
#include "tests/support/check.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::Road;
using impishim_test::SharedFile;
using impishim_test::size_of;

constexpr int kInts = 400;  ///< that each rank writes in a round

int value_at(int round, int place) { return 1000 * round + place % 997; }

/// Writes every rank's ints of a round: together, or each rank by itself.
void write_round(SharedFile& file, int round) {
  const int me = rank_in(MPI_COMM_WORLD);
  const int size = size_of(MPI_COMM_WORLD);
  std::vector<int> mine;
  for (int i = 0; i < kInts; ++i) mine.push_back(value_at(round, i * size + me));
  if (round % 2 == 0) {
    MPI_File_write_at_all(file.get(), 0, mine.data(), kInts, MPI_INT, MPI_STATUS_IGNORE);
  } else {
    MPI_File_write_at(file.get(), 0, mine.data(), kInts, MPI_INT, MPI_STATUS_IGNORE);
  }
}

void check_rounds(Road road, int rounds) {
  const int me = rank_in(MPI_COMM_WORLD);
  const int size = size_of(MPI_COMM_WORLD);
  SharedFile file(impishim_test::common_name("interleaved"),
                  MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, road);
  MPI_Datatype every;
  MPI_Type_create_resized(MPI_INT, 0, static_cast<MPI_Aint>(sizeof(int)) * size, &every);
  MPI_Type_commit(&every);
  for (int round = 0; round < rounds; ++round) {
    MPI_File_set_view(file.get(), static_cast<MPI_Offset>(sizeof(int)) * me, MPI_INT, every,
                      "native", MPI_INFO_NULL);
    write_round(file, round);
    file.settle();
    MPI_File_set_view(file.get(), 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    std::vector<int> all(static_cast<std::size_t>(kInts * size), -1);
    MPI_File_read_at(file.get(), 0, all.data(), kInts * size, MPI_INT, MPI_STATUS_IGNORE);
    for (int i = 0; i < kInts * size; ++i)
      REQUIRE_EQUAL(all[static_cast<std::size_t>(i)], value_at(round, i));
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Type_free(&every);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 40;
  check_rounds(Road::kBySight, rounds);
  check_rounds(Road::kByShipping, rounds);
  if (rank_in(MPI_COMM_WORLD) == 0)
    std::printf("interleaved writes of %d ranks: right\n", size_of(MPI_COMM_WORLD));
  MPI_Finalize();
}
