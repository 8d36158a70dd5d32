// SPDX-License-Identifier: Apache-2.0
// MPI_Pack, MPI_Unpack and MPI_Pack_size between every rank and the next, also where one end of a
// message is typed.
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tests/support/members.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

const MPI_Comm kWorld = MPI_COMM_WORLD;

int below() { return (rank_in(kWorld) + size_of(kWorld) - 1) % size_of(kWorld); }

/// Sends to the rank above and receives from the one below; returns the status of the receive.
MPI_Status pass(const void* out, int out_count, MPI_Datatype out_type, void* in, int in_count,
                MPI_Datatype in_type) {
  const int above = (rank_in(kWorld) + 1) % size_of(kWorld);
  MPI_Status status;
  MPI_Sendrecv(out, out_count, out_type, above, 1, in, in_count, in_type, below(), 1, kWorld,
               &status);
  return status;
}

/// MPI_PACKED data, made and taken apart on the same communicator.
void packed() {
  std::array<char, 4096> out = {};
  std::array<char, 4096> in = {};
  const int number = 4000 + rank_in(kWorld);
  const std::array<double, 3> reals = {1.25, -2.5, static_cast<double>(rank_in(kWorld))};
  int position = 0;
  MPI_Pack(&number, 1, MPI_INT, out.data(), static_cast<int>(out.size()), &position, kWorld);
  MPI_Pack(reals.data(), 3, MPI_DOUBLE, out.data(), static_cast<int>(out.size()), &position,
           kWorld);
  const MPI_Status status =
      pass(out.data(), position, MPI_PACKED, in.data(), static_cast<int>(in.size()), MPI_PACKED);
  int size = 0;
  MPI_Get_count(&status, MPI_PACKED, &size);
  int got = 0;
  std::array<double, 3> reals_in = {};
  position = 0;
  MPI_Unpack(in.data(), size, &position, &got, 1, MPI_INT, kWorld);
  MPI_Unpack(in.data(), size, &position, reals_in.data(), 3, MPI_DOUBLE, kWorld);
  REQUIRE_EQUAL(got, 4000 + below());
  REQUIRE(reals_in[0] == 1.25 && reals_in[1] == -2.5 && reals_in[2] == below());
}

/// One end typed, the other one MPI_PACKED.
void packed_meets_typed() {
  const std::array<long, 2> out = {1L << 40, rank_in(kWorld)};
  std::array<long, 2> in = {};
  int room = 0;
  MPI_Pack_size(2, MPI_LONG, kWorld, &room);
  REQUIRE(room >= 16);
  std::vector<char> bytes(static_cast<std::size_t>(room));
  int position = 0;
  MPI_Pack(out.data(), 2, MPI_LONG, bytes.data(), room, &position, kWorld);
  pass(bytes.data(), position, MPI_PACKED, in.data(), 2, MPI_LONG);
  REQUIRE(in[0] == 1L << 40 && in[1] == below());
  in = {};
  const MPI_Status status = pass(out.data(), 2, MPI_LONG, bytes.data(), room, MPI_PACKED);
  int size = 0;
  MPI_Get_count(&status, MPI_PACKED, &size);
  position = 0;
  MPI_Unpack(bytes.data(), size, &position, in.data(), 2, MPI_LONG, kWorld);
  REQUIRE(in[0] == 1L << 40 && in[1] == below());
  REQUIRE_EQUAL(position, size);
}

void require_class(int code, int wanted) {
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  REQUIRE_EQUAL(error_class, wanted);
}

/// What native libraries report differs.
void bad_packing() {
  MPI_Comm_set_errhandler(kWorld, MPI_ERRORS_RETURN);
  const std::array<int, 4> numbers = {};
  std::array<int, 4> room = {};
  int position = 4;
  require_class(MPI_Pack(numbers.data(), 4, MPI_INT, room.data(), 16, &position, kWorld),
                MPI_ERR_TRUNCATE);
  require_class(MPI_Unpack(numbers.data(), 16, &position, room.data(), 4, MPI_INT, kWorld),
                MPI_ERR_TRUNCATE);
  require_class(MPI_Pack(numbers.data(), -1, MPI_INT, room.data(), 16, &position, kWorld),
                MPI_ERR_COUNT);
  require_class(MPI_Pack_size(1, MPI_DATATYPE_NULL, kWorld, room.data()), MPI_ERR_TYPE);
  REQUIRE_EQUAL(position, 4);
  position = 17;
  require_class(MPI_Unpack(numbers.data(), 16, &position, room.data(), 0, MPI_INT, kWorld),
                MPI_ERR_ARG);
  MPI_Comm_set_errhandler(kWorld, MPI_ERRORS_ARE_FATAL);
}

/// A column of a matrix, packed, is unpacked as a row.
void packed_column() {
  constexpr int kRows = 100;
  constexpr int kColumns = 7;
  std::array<float, kRows* kColumns> matrix = {};
  for (int row = 0; row < kRows; ++row)
    matrix[static_cast<std::size_t>(row * kColumns)] = static_cast<float>(row + rank_in(kWorld));
  MPI_Datatype column = MPI_DATATYPE_NULL;
  MPI_Type_vector(kRows, 1, kColumns, MPI_FLOAT, &column);
  MPI_Type_commit(&column);
  int room = 0;
  MPI_Pack_size(1, column, kWorld, &room);
  std::vector<char> out(static_cast<std::size_t>(room));
  std::vector<char> in(static_cast<std::size_t>(room));
  int position = 0;
  MPI_Pack(matrix.data(), 1, column, out.data(), room, &position, kWorld);
  pass(out.data(), position, MPI_PACKED, in.data(), room, MPI_PACKED);
  std::array<float, kRows> row = {};
  int read = 0;
  MPI_Unpack(in.data(), position, &read, row.data(), kRows, MPI_FLOAT, kWorld);
  for (int i = 0; i < kRows; ++i)
    REQUIRE(row[static_cast<std::size_t>(i)] == static_cast<float>(i + below()));
  REQUIRE_EQUAL(read, position);
  MPI_Type_free(&column);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  packed();
  packed_column();
  // In a form that is chosen for the wire, local messages are still the vendor's, which packs as it
  // likes.
  if (std::getenv("IMPISHIM_WIRE_FORMAT") == nullptr) packed_meets_typed();
  if (impishim_test::in_joined_job()) bad_packing();
  std::printf("rank %d: packed and unpacked\n", rank_in(kWorld));
  MPI_Finalize();
  return 0;
}
