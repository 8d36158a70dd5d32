// SPDX-License-Identifier: Apache-2.0
// Messages that are no whole number of the receive's elements: what does not fit is
// MPI_ERR_TRUNCATE, of what fits MPI_Get_count and MPI_Get_elements say MPI_UNDEFINED. Short and
// long, received in every way, from each other rank: inside a system and across.
#include <array>
#include <cstdio>
#include <vector>

#include "tests/support/check.hpp"

namespace {

using impishim_test::rank_in;
using impishim_test::size_of;

const MPI_Comm kWorld = MPI_COMM_WORLD;
constexpr int kTag = 7;
constexpr double kUntouched = -7;

int class_of(int code) {
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  return error_class;
}

struct Room {
  double* base;
  int count;
};

int by_recv(const Room& room, int from, MPI_Status& status) {
  return MPI_Recv(room.base, room.count, MPI_DOUBLE, from, kTag, kWorld, &status);
}

int by_recv_from_any(const Room& room, int /*from*/, MPI_Status& status) {
  return MPI_Recv(room.base, room.count, MPI_DOUBLE, MPI_ANY_SOURCE, kTag, kWorld, &status);
}

int by_wait(const Room& room, int from, MPI_Status& status) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(room.base, room.count, MPI_DOUBLE, from, kTag, kWorld, &request);
  const int code = MPI_Wait(&request, &status);
  REQUIRE(request == MPI_REQUEST_NULL);
  return code;
}

int by_sendrecv(const Room& room, int from, MPI_Status& status) {
  const int nothing = 0;
  return MPI_Sendrecv(&nothing, 0, MPI_INT, MPI_PROC_NULL, 1, room.base, room.count, MPI_DOUBLE,
                      from, kTag, kWorld, &status);
}

int by_mrecv(const Room& room, int from, MPI_Status& status) {
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Mprobe(from, kTag, kWorld, &message, MPI_STATUS_IGNORE);
  return MPI_Mrecv(room.base, room.count, MPI_DOUBLE, &message, &status);
}

/// Three ints are a double and a half.
struct Sizes {
  int ints;
  int doubles;
};

using Receive = int (*)(const Room& room, int from, MPI_Status& status);

void receive(Receive way, const Sizes& sizes, int from) {
  std::vector<double> data(static_cast<std::size_t>(sizes.doubles) + 8, kUntouched);
  MPI_Status status;
  const int told = class_of(way({data.data(), sizes.doubles}, from, status));
  for (auto i = static_cast<std::size_t>(sizes.doubles); i < data.size(); ++i)
    REQUIRE_EQUAL(data[i], kUntouched);
  REQUIRE_EQUAL(status.MPI_SOURCE, from);
  REQUIRE_EQUAL(status.MPI_TAG, kTag);
  const bool fits = 2 * sizes.doubles >= sizes.ints;
  REQUIRE_EQUAL(told, fits ? MPI_SUCCESS : MPI_ERR_TRUNCATE);
  if (!fits) return;  // how much has come the vendors tell differently
  int elements = 0;
  int parts = 0;
  int bytes = 0;
  MPI_Get_count(&status, MPI_DOUBLE, &elements);
  MPI_Get_elements(&status, MPI_DOUBLE, &parts);
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  const bool whole = sizes.ints % 2 == 0;
  REQUIRE_EQUAL(elements, whole ? sizes.ints / 2 : MPI_UNDEFINED);
  REQUIRE_EQUAL(parts, whole ? sizes.ints / 2 : MPI_UNDEFINED);
  REQUIRE_EQUAL(bytes, sizes.ints * static_cast<int>(sizeof(int)));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(kWorld, MPI_ERRORS_RETURN);
  constexpr std::array<Sizes, 7> kSizes{
      {{3, 1}, {3, 2}, {4, 1}, {4, 3}, {200001, 100000}, {200001, 100001}, {300000, 100000}}};
  constexpr std::array<Receive, 5> kWays{by_recv, by_recv_from_any, by_wait, by_sendrecv, by_mrecv};
  const int last = size_of(kWorld) - 1;
  for (int from = 0; from < last; ++from) {
    for (const Sizes& sizes : kSizes) {
      for (const Receive way : kWays) {
        MPI_Barrier(kWorld);
        if (rank_in(kWorld) == last) receive(way, sizes, from);
        if (rank_in(kWorld) != from) continue;
        const std::vector<int> data(static_cast<std::size_t>(sizes.ints), 5);
        REQUIRE_EQUAL(MPI_Send(data.data(), sizes.ints, MPI_INT, last, kTag, kWorld), MPI_SUCCESS);
      }
    }
  }
  MPI_Barrier(kWorld);
  std::printf("rank %d: fractions as they should be\n", rank_in(kWorld));
  MPI_Finalize();
  return 0;
}
