// SPDX-License-Identifier: Apache-2.0
// What the programs of these tests have in common: they count what is wrong on all ranks and print
// one line for each part, which is the same however many systems the ranks are spread over.
#pragma once

#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "darray/base/error.hpp"

namespace checks {

inline int rank = 0;
inline int size = 1;
inline int failures = 0;

inline void expect(bool holds, const char* text, const char* file, int line) {
  if (holds) return;
  if (++failures <= 10)
    std::fprintf(stderr, "rank %d: %s:%d: %s does not hold\n", rank, file, line, text);
}

/// Runs one part on all ranks and prints whether it went well everywhere.
template <class Part>
void part(const char* name, Part part) {
  const int before = failures;
  try {
    part();
  } catch (const std::exception& error) {
    // Other ranks may wait for this one for ever.
    std::fprintf(stderr, "rank %d: %s: %s\n", rank, name, error.what());
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  int mine = failures - before;
  int all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) std::printf("rank 0 of %d: %s: %s\n", size, name, all == 0 ? "right" : "WRONG");
  std::fflush(stdout);
}

/// Whether this throws an Error of that kind.
template <class Body>
bool refused(impishim::darray::ErrorKind kind, Body body) {
  try {
    body();
  } catch (const impishim::darray::Error& error) {
    return error.kind() == kind;
  }
  return false;
}

inline void begin(int* argc, char*** argv) {
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
}

inline int end() {
  MPI_Finalize();
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace checks

#define EXPECT(condition) checks::expect((condition), #condition, __FILE__, __LINE__)
