// SPDX-License-Identifier: Apache-2.0
// A job of three systems of which the second, one process, dies while the others wait for it. They
// end what they wait in with an error, and go on among themselves.
#include <mpi.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>

namespace {

// The only process of the second system.
constexpr int kLostRank = 2;
constexpr int kReadyTag = 9;

/// Waits for the lost process in the way that the test names; returns the call's code.
int wait_for_lost(const std::string& way) {
  int value = 0;
  if (way == "recv")
    return MPI_Recv(&value, 1, MPI_INT, kLostRank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (way == "probe") return MPI_Probe(kLostRank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (way == "ssend") return MPI_Ssend(&value, 1, MPI_INT, kLostRank, 8, MPI_COMM_WORLD);
  MPI_Comm made = MPI_COMM_NULL;
  if (way == "dup") return MPI_Comm_dup(MPI_COMM_WORLD, &made);
  if (way == "create_group") {
    MPI_Group world = MPI_GROUP_NULL;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    const int code = MPI_Comm_create_group(MPI_COMM_WORLD, world, 6, &made);
    MPI_Group_free(&world);
    return code;
  }
  const int one = 1;
  return MPI_Allreduce(&one, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

void expect_loss(int code) {
  int error_class = MPI_SUCCESS;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_class(code, &error_class);
  MPI_Error_string(code, text, &length);
#ifdef MPIX_ERR_PROC_FAILED
  const int expected = MPIX_ERR_PROC_FAILED;
#else
  const int expected = MPI_ERR_OTHER;
#endif
  if (error_class != expected || std::strstr(text, "system 1 is lost") == nullptr) {
    std::printf("survivors: class %d, text %s\n", error_class, text);
    std::fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
}

/// Makes a communicator of the survivors, and uses it.
bool go_on(int size) {
  MPI_Group world = MPI_GROUP_NULL;
  MPI_Group survivors = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_excl(world, 1, &kLostRank, &survivors);
  MPI_Comm comm = MPI_COMM_NULL;
  if (MPI_Comm_create_group(MPI_COMM_WORLD, survivors, 5, &comm) != MPI_SUCCESS) return false;
  MPI_Group_free(&world);
  MPI_Group_free(&survivors);
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  const int others = size - 1;
  int from = -1;
  if (MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % others, 1, &from, 1, MPI_INT,
                   (rank + others - 1) % others, 1, comm, MPI_STATUS_IGNORE) != MPI_SUCCESS)
    return false;
  int sum = 0;
  if (MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm) != MPI_SUCCESS) return false;
  MPI_Comm_free(&comm);
  return from == (rank + others - 1) % others && sum == others * (others - 1) / 2;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const std::string way = argc > 1 ? argv[1] : "recv";
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const bool fatal = argc > 2 && rank == size - 1;
  if (!fatal) MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int memory = 0;
  MPI_Win window = MPI_WIN_NULL;
  MPI_File file = MPI_FILE_NULL;
  if (way == "window")
    MPI_Win_create(&memory, sizeof(memory), sizeof(memory), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  if (way == "file") MPI_File_open(MPI_COMM_WORLD, argv[0], MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == kLostRank) {
    // The others say so before they wait. If they do not wait yet, their calls find the loss.
    for (int other = 0; other < size - 1; ++other)
      MPI_Recv(nullptr, 0, MPI_INT, MPI_ANY_SOURCE, kReadyTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    raise(SIGKILL);
  }
  MPI_Send(nullptr, 0, MPI_INT, kLostRank, kReadyTag, MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  expect_loss(wait_for_lost(way));
  const double lasted = MPI_Wtime() - begin;
  const bool went_on = go_on(size);
  std::printf("survivors: rank %d ended its wait after %.1f s, %s\n", rank, lasted,
              went_on ? "and went on" : "and failed");
  std::fflush(stdout);
  MPI_Finalize();
  return went_on ? 0 : 2;
}
