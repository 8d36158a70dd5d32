// SPDX-License-Identifier: Apache-2.0
// A rank that stands in a blocking call inside its system takes messages that nobody has asked for:
// another system's rank sends more of them than flow control lets be on their way, and only then
// lets the call end. Ranks 2 and 3 are in one system, rank 0 in another.
#include <cstdio>
#include <string>

#include "tests/support/check.hpp"

namespace {

constexpr int kMessages = 200;
constexpr int kUnasked = 1;
constexpr int kToken = 2;
constexpr int kInside = 3;
const MPI_Comm kWorld = MPI_COMM_WORLD;

/// The call that rank 2 stands in, and that rank 3 lets end: what each of the two does.
template <class Stand, class Release>
void check(const char* name, const std::string& only, Stand&& stand, Release&& release) {
  if (!only.empty() && only != name) return;
  const int rank = impishim_test::rank_in(kWorld);
  if (rank == 0) {
    for (int i = 0; i < kMessages; ++i) MPI_Send(&i, 1, MPI_INT, 2, kUnasked, kWorld);
    MPI_Send(nullptr, 0, MPI_INT, 3, kToken, kWorld);
  } else if (rank == 2) {
    stand();
    for (int i = 0; i < kMessages; ++i) {
      int value = -1;
      MPI_Recv(&value, 1, MPI_INT, 0, kUnasked, kWorld, MPI_STATUS_IGNORE);
      REQUIRE_EQUAL(value, i);
    }
  } else if (rank == 3) {
    MPI_Recv(nullptr, 0, MPI_INT, 0, kToken, kWorld, MPI_STATUS_IGNORE);
    release();
  }
  MPI_Barrier(kWorld);
  if (rank == 0) std::printf("%s: over\n", name);
}

void free_group(MPI_Group group) { MPI_Group_free(&group); }

}  // namespace

/// With an argument, that case alone.
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = impishim_test::rank_in(kWorld);
  MPI_Comm pair = MPI_COMM_NULL;
  MPI_Comm_split(kWorld, rank / 2, rank, &pair);
  const std::string only = argc > 1 ? argv[1] : "";
  int value = 0;
  MPI_Status status;
  const auto give = [&] { MPI_Send(&value, 1, MPI_INT, 0, kInside, pair); };
  const auto take = [&] { MPI_Recv(&value, 1, MPI_INT, 1, kInside, pair, &status); };
  const auto both = [&](const char* name, const auto& body) { check(name, only, body, body); };

  check("recv", only, take, give);
  check(
      "recv_in_world", only, [&] { MPI_Recv(&value, 1, MPI_INT, 3, kInside, kWorld, &status); },
      [&] { MPI_Send(&value, 1, MPI_INT, 2, kInside, kWorld); });
  check(
      "ssend", only, [&] { MPI_Ssend(&value, 1, MPI_INT, 1, kInside, pair); },
      [&] { MPI_Recv(&value, 1, MPI_INT, 0, kInside, pair, &status); });
  check(
      "wait", only,
      [&] {
        MPI_Request request;
        MPI_Irecv(&value, 1, MPI_INT, 1, kInside, pair, &request);
        MPI_Wait(&request, &status);
      },
      give);
  check(
      "waitall", only,
      [&] {
        MPI_Request request;
        MPI_Irecv(&value, 1, MPI_INT, 1, kInside, pair, &request);
        MPI_Waitall(1, &request, &status);
      },
      give);
  check(
      "probe", only,
      [&] {
        MPI_Probe(1, kInside, pair, &status);
        take();
      },
      give);
  check(
      "mprobe", only,
      [&] {
        MPI_Message message;
        MPI_Mprobe(1, kInside, pair, &message, &status);
        MPI_Mrecv(&value, 1, MPI_INT, &message, &status);
      },
      give);
  both("sendrecv", [&] {
    const int other = 1 - rank % 2;
    MPI_Sendrecv_replace(&value, 1, MPI_INT, other, kInside, other, kInside, pair, &status);
  });
  both("barrier", [&] { MPI_Barrier(pair); });
  both("allreduce", [&] {
    int sum = 0;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, pair);
    REQUIRE_EQUAL(sum, 5);
  });
  both("create_group", [&] {
    MPI_Group group;
    MPI_Comm made;
    MPI_Comm_group(pair, &group);
    MPI_Comm_create_group(pair, group, kInside, &made);
    free_group(group);
    MPI_Comm_free(&made);
  });
  both("dup", [&] {
    MPI_Comm made;
    MPI_Comm_dup(pair, &made);
    MPI_Comm_free(&made);
  });
  both("window", [&] {
    MPI_Win window;
    MPI_Win_create(&value, sizeof(value), 1, MPI_INFO_NULL, pair, &window);
    MPI_Win_free(&window);
  });
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(pair, &copy);
  both("disconnect", [&] {
    MPI_Barrier(copy);
    MPI_Comm_disconnect(&copy);
  });
  if (copy != MPI_COMM_NULL) MPI_Comm_free(&copy);
  MPI_Comm_free(&pair);
  MPI_Finalize();
  return 0;
}
