// SPDX-License-Identifier: Apache-2.0
// Packing with large counts, and a user's operation that counts so.
#include <mpi.h>

#include <cstdio>
#include <vector>

#include "tests/support/check.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

const MPI_Comm kWorld = MPI_COMM_WORLD;
constexpr MPI_Count kCount = 5000;

void check_packing() {
  const int rank = rank_in(kWorld);
  const int size = size_of(kWorld);
  MPI_Count room = 0;
  MPI_Pack_size_c(kCount, MPI_DOUBLE, kWorld, &room);
  REQUIRE(room >= kCount * static_cast<MPI_Count>(sizeof(double)));
  std::vector<char> packed(static_cast<std::size_t>(room));
  const std::vector<double> out(kCount, rank + 0.5);
  MPI_Count position = 0;
  MPI_Pack_c(out.data(), kCount, MPI_DOUBLE, packed.data(), room, &position, kWorld);
  std::vector<char> come(packed.size());
  MPI_Status status;
  MPI_Sendrecv(packed.data(), static_cast<int>(position), MPI_PACKED, (rank + 1) % size, 4,
               come.data(), static_cast<int>(room), MPI_PACKED, (rank + size - 1) % size, 4, kWorld,
               &status);
  std::vector<double> in(kCount, -1);
  MPI_Count length = 0;
  MPI_Get_count_c(&status, MPI_PACKED, &length);
  position = 0;
  MPI_Unpack_c(come.data(), length, &position, in.data(), kCount, MPI_DOUBLE, kWorld);
  REQUIRE_EQUAL(position, length);
  for (const double each : in) REQUIRE(each == (rank + size - 1) % size + 0.5);
}

/// Keeps the larger one; called with a count that is an MPI_Count.
void larger(void* in, void* inout, MPI_Count* count, MPI_Datatype* /*type*/) {
  const auto* from = static_cast<const int*>(in);
  auto* to = static_cast<int*>(inout);
  for (MPI_Count i = 0; i < *count; ++i)
    if (from[i] > to[i]) to[i] = from[i];
}

void check_operation() {
  const int rank = rank_in(kWorld);
  MPI_Op op = MPI_OP_NULL;
  MPI_Op_create_c(larger, 1, &op);
  const std::vector<int> mine(kCount, rank * 3);
  std::vector<int> most(kCount, -1);
  MPI_Allreduce_c(mine.data(), most.data(), kCount, MPI_INT, op, kWorld);
  for (const int each : most) REQUIRE_EQUAL(each, 3 * (size_of(kWorld) - 1));
  MPI_Op_free(&op);
}

}  // namespace

int main() {
  MPI_Init(nullptr, nullptr);
  check_packing();
  check_operation();
  std::printf("rank %d of %d: right\n", rank_in(kWorld), size_of(kWorld));
  MPI_Finalize();
  return 0;
}
