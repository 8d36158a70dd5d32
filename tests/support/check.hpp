// SPDX-License-Identifier: Apache-2.0
/// Checks for the MPI programs among the tests. A check that fails says where, and ends the whole
/// job with code 99.
#pragma once

#include <mpi.h>

#include <cstdio>

/// Plain MPI and C++: these programs are built as any user's, without the library.
#define REQUIRE(condition)                                                         \
  do {                                                                             \
    if (!(condition)) impishim_test::failed_check(#condition, __FILE__, __LINE__); \
  } while (false)

#define REQUIRE_EQUAL(actual, expected)                                                      \
  do {                                                                                       \
    const long long actual_value = static_cast<long long>(actual);                           \
    const long long expected_value = static_cast<long long>(expected);                       \
    if (actual_value != expected_value) {                                                    \
      std::fprintf(stderr, "%s is %lld, not %lld\n", #actual, actual_value, expected_value); \
      impishim_test::failed_check(#actual " == " #expected, __FILE__, __LINE__);             \
    }                                                                                        \
  } while (false)

namespace impishim_test {

[[noreturn]] inline void failed_check(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: not true: %s\n", file, line, condition);
  std::fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, 99);
  __builtin_unreachable();
}

inline int rank_in(MPI_Comm comm) {
  int rank = -1;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

inline int size_of(MPI_Comm comm) {
  int size = -1;
  MPI_Comm_size(comm, &size);
  return size;
}

}  // namespace impishim_test
