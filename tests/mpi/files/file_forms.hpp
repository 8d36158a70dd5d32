// SPDX-License-Identifier: Apache-2.0
/// Checks one form of access after another: each rank writes a part of a file and reads another's.
#pragma once

#include <mpi.h>

#include <functional>
#include <vector>

#include "tests/mpi/files/shared_file.hpp"
#include "tests/support/check.hpp"

namespace impishim_test {

constexpr int kInts = 500;  ///< that each rank writes

/// Writes `kInts` ints of `data` to the part of a rank, or reads them.
using WriteForm = std::function<void(MPI_File, int part, const int* data, MPI_Status*)>;
using ReadForm = std::function<void(MPI_File, int part, int* data, MPI_Status*)>;

/// Returns where a rank's part begins, in ints.
inline MPI_Offset part_of(int rank) { return static_cast<MPI_Offset>(rank) * kInts; }

/// Writes by one form, and reads what the next rank has written by another. `ordered` forms give
/// every rank its own part.
inline void check_forms(SharedFile& file, const WriteForm& write, const ReadForm& read,
                        bool ordered = false) {
  static int round = 0;
  ++round;
  const int me = rank_in(MPI_COMM_WORLD);
  const int other = ordered ? me : (me + 1) % size_of(MPI_COMM_WORLD);
  const std::vector<int> mine(kInts, 1000 * round + me);
  MPI_Status status;
  write(file.get(), me, mine.data(), &status);
  REQUIRE_EQUAL(transferred(status, MPI_INT), kInts);
  file.settle();
  if (ordered) MPI_File_seek_shared(file.get(), 0, MPI_SEEK_SET);
  std::vector<int> theirs(kInts, -1);
  read(file.get(), other, theirs.data(), &status);
  REQUIRE_EQUAL(transferred(status, MPI_INT), kInts);
  REQUIRE(theirs == std::vector<int>(kInts, 1000 * round + other));
  MPI_Barrier(MPI_COMM_WORLD);
  if (ordered) MPI_File_seek_shared(file.get(), 0, MPI_SEEK_SET);
}

}  // namespace impishim_test
