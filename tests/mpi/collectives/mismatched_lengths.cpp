// SPDX-License-Identifier: Apache-2.0
// Long reductions, scans and broadcasts in which one rank passes another length, under
// MPI_ERRORS_RETURN. No rank waits for ever: each gets MPI_SUCCESS or an error, at least one gets
// an error, and communicators that were made before work as before. For joined jobs: Open MPI by
// itself waits for ever in some of these calls.
#include <mpi.h>

#include <functional>
#include <vector>

#include "communicators.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

constexpr int kLong = 300000;
constexpr int kLonger = 400000;
constexpr int kShort = 100;

struct Case {
  const char* name;
  int wrong_rank;
  int wrong_length;
  std::function<int(const double* in, double* out, int length, MPI_Comm comm)> run;
};

int allreduce(const double* in, double* out, int length, MPI_Comm comm) {
  return MPI_Allreduce(in, out, length, MPI_DOUBLE, MPI_SUM, comm);
}

int reduce(const double* in, double* out, int length, MPI_Comm comm) {
  return MPI_Reduce(in, out, length, MPI_DOUBLE, MPI_SUM, 0, comm);
}

int scan(const double* in, double* out, int length, MPI_Comm comm) {
  return MPI_Scan(in, out, length, MPI_DOUBLE, MPI_SUM, comm);
}

int bcast(const double* /*in*/, double* out, int length, MPI_Comm comm) {
  return MPI_Bcast(out, length, MPI_DOUBLE, 0, comm);
}

void check(const Case& each, MPI_Comm comm) {
  const bool wrong = rank_in(comm) == each.wrong_rank;
  const int length = wrong ? each.wrong_length : kLong;
  const std::vector<double> in(static_cast<std::size_t>(kLonger), 1.0);
  // Room for the longest: Open MPI writes behind a buffer that is too short.
  std::vector<double> out(in.size(), 0.0);
  int failed = each.run(in.data(), out.data(), length, comm) == MPI_SUCCESS ? 0 : 1;
  // A rank that has completed its part learns of it in its next collective.
  if (MPI_Barrier(comm) != MPI_SUCCESS) failed = 1;
  int any = 0;
  REQUIRE_EQUAL(MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD), MPI_SUCCESS);
  if (any == 0 && rank_in(comm) == 0) std::fprintf(stderr, "%s: no rank was told\n", each.name);
  REQUIRE_EQUAL(any, 1);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int last = size_of(MPI_COMM_WORLD) - 1;
  for (const Case& each :
       {Case{"Allreduce", last, kLonger, allreduce}, Case{"Reduce", last, kShort, reduce},
        Case{"Scan", 1, kLonger, scan}, Case{"Bcast, short", last, kShort, bcast},
        Case{"Bcast, long", 1, kLonger, bcast}}) {
    MPI_Comm comm = MPI_COMM_NULL;
    REQUIRE_EQUAL(MPI_Comm_dup(MPI_COMM_WORLD, &comm), MPI_SUCCESS);
    check(each, comm);
    MPI_Comm_free(&comm);
  }
  return impishim_test::finish("mismatched lengths");
}
