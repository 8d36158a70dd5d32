// SPDX-License-Identifier: Apache-2.0
// MPI_Get_library_version before, between and after MPI_Init and MPI_Finalize. In a joined job
// the text names both libraries; otherwise the vendor's alone.
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "tests/support/check.hpp"
#include "tests/support/members.hpp"

namespace {

std::string library_version(bool joined) {
  std::vector<char> text(MPI_MAX_LIBRARY_VERSION_STRING + 8, '#');
  int length = -1;
  REQUIRE_EQUAL(MPI_Get_library_version(text.data(), &length), MPI_SUCCESS);
  REQUIRE(length < MPI_MAX_LIBRARY_VERSION_STRING);
  // Open MPI 4.1.4 counts the terminating zero.
  if (joined || static_cast<std::size_t>(length) != std::strlen(text.data()) + 1)
    REQUIRE_EQUAL(length, std::strlen(text.data()));
  REQUIRE_EQUAL(text[MPI_MAX_LIBRARY_VERSION_STRING], '#');
  return text.data();
}

}  // namespace

int main(int argc, char** argv) {
  const bool joined = impishim_test::in_joined_job();
  const std::string before = library_version(joined);
  MPI_Init(&argc, &argv);
#ifdef OPEN_MPI
  REQUIRE(before.rfind("Open MPI v", 0) == 0);
#else
  REQUIRE(before.rfind("MPICH Version:", 0) == 0);
#endif
  const std::size_t own = before.find("impishim ");
  REQUIRE_EQUAL(own != std::string::npos, joined);
  // A digit begins the version.
  if (joined) REQUIRE(before[own + 9] >= '0' && before[own + 9] <= '9');
  REQUIRE(library_version(joined) == before);
  const int rank = impishim_test::rank_in(MPI_COMM_WORLD);
  const int size = impishim_test::size_of(MPI_COMM_WORLD);
  MPI_Finalize();
  if (library_version(joined) != before) return 1;
  std::printf("rank %d of %d: the library's version is right\n", rank, size);
  return 0;
}
