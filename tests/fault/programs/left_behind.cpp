// SPDX-License-Identifier: Apache-2.0
// A job of three systems of which the second dies while the others wait for it. They end what they
// wait in with an error, and go on among themselves.
//
// Usage: left_behind WAY [fatal|handler]. WAY: what the others wait in; `cut`: in a receive, and
// the second system does not die, but waits for the first one. `fatal`: the last process has
// MPI_ERRORS_ARE_FATAL, so the job ends. `handler`: they have an error handler of their own.
#include "impishim/ulfm.h"

#include <mpi.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace {

constexpr int kLostSystem = 1;
constexpr int kTag = 7;
int errors_handled = 0;

struct World {
  int rank = 0;
  int size = 0;
  int system = 0;
  std::vector<int> lost;  ///< ranks of the lost system
};

World look_around() {
  World world;
  MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world.size);
  int* system = nullptr;
  int found = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, static_cast<void*>(&system), &found);
  world.system = *system;
  std::vector<int> systems(static_cast<std::size_t>(world.size));
  MPI_Allgather(system, 1, MPI_INT, systems.data(), 1, MPI_INT, MPI_COMM_WORLD);
  for (int rank = 0; rank < world.size; ++rank) {
    if (systems[static_cast<std::size_t>(rank)] == kLostSystem) world.lost.push_back(rank);
  }
  return world;
}

[[noreturn]] void give_up(const char* what, int error_class, const char* text) {
  std::printf("left behind: %s: class %d, text %s\n", what, error_class, text);
  std::fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 3);
  _exit(3);
}

/// Ends the job if a code is not that of a loss.
void expect_loss(int code, bool pending = false) {
  int error_class = MPI_SUCCESS;
  int standard_class = MPI_SUCCESS;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  impishim_error_class(code, &error_class);
  MPI_Error_class(code, &standard_class);
  MPI_Error_string(code, text.data(), &length);
  const int expected = pending ? MPIX_ERR_PROC_FAILED_PENDING : MPIX_ERR_PROC_FAILED;
  if (error_class != expected || std::strstr(text.data(), "system 1 is lost") == nullptr)
    give_up("not the expected error", error_class, text.data());
#ifdef OPEN_MPI
  if (standard_class != MPI_ERR_OTHER) give_up("not MPI_ERR_OTHER", standard_class, text.data());
#else
  if (standard_class != expected) give_up("not the class", standard_class, text.data());
#endif
}

/// The code of a request in a call that returned MPI_ERR_IN_STATUS, or the call's code.
int code_in(int code, const MPI_Status& status) {
  int error_class = 0;
  MPI_Error_class(code, &error_class);
  return error_class == MPI_ERR_IN_STATUS ? status.MPI_ERROR : code;
}

/// Waits in a receive from any source; acknowledges the failure; receives from a survivor then.
void wait_for_any(const World& world) {
  int value = -1;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &request);
  expect_loss(MPI_Wait(&request, MPI_STATUS_IGNORE), true);
  if (request == MPI_REQUEST_NULL) give_up("the request is gone", 0, "");
  int blocking = 0;
  expect_loss(
      MPI_Recv(&blocking, 1, MPI_INT, MPI_ANY_SOURCE, kTag + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  MPIX_Comm_failure_ack(MPI_COMM_WORLD);
  MPI_Group failed = MPI_GROUP_NULL;
  MPIX_Comm_failure_get_acked(MPI_COMM_WORLD, &failed);
  int failures = 0;
  MPI_Group_size(failed, &failures);
  if (failures != static_cast<int>(world.lost.size())) give_up("acknowledged", failures, "");
  MPI_Group_free(&failed);
  const int to = world.rank == 0 ? world.size - 1 : 0;
  // Neither sends before both have seen the failure.
  if (world.rank == 0 || world.rank == world.size - 1)
    MPI_Sendrecv(nullptr, 0, MPI_INT, to, 11, nullptr, 0, MPI_INT, to, 11, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  if (world.rank == 0 || world.rank == world.size - 1)
    MPI_Send(&world.rank, 1, MPI_INT, to, kTag, MPI_COMM_WORLD);
  if (world.rank == 0 || world.rank == world.size - 1) {
    if (MPI_Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS || value != to)
      give_up("the second wait", value, "");
  } else {
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

void receive_from(int from) {
  int value = 0;
  expect_loss(MPI_Recv(&value, 1, MPI_INT, from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

/// Waits for the lost system in the way that the test names, until the call returns an error.
void wait_for_lost(const World& world, const std::string& way) {
  const int lost = world.lost.front();
  int value = 0;
  const int one = 1;
  std::vector<char> large(4U << 20U);
  const std::map<std::string, std::function<void()>> ways {
    {"recv", [&] { receive_from(lost); }}, {"cut", [&] { receive_from(lost); }},
        {"probe", [&] { expect_loss(MPI_Probe(lost, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE)); }},
        {"mprobe",
         [&] {
           MPI_Message message = MPI_MESSAGE_NULL;
           expect_loss(
               MPI_Mprobe(MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
         }},
        {"iprobe",
         [&] {
           int flag = 0;
           int code = MPI_SUCCESS;
           while (code == MPI_SUCCESS)
             code = MPI_Iprobe(lost, kTag, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
           expect_loss(code);
         }},
        {"ssend", [&] { expect_loss(MPI_Ssend(&value, 1, MPI_INT, lost, 8, MPI_COMM_WORLD)); }},
        {"send",
         [&] {
           expect_loss(MPI_Send(large.data(), static_cast<int>(large.size()), MPI_CHAR, lost, 8,
                                MPI_COMM_WORLD));
         }},
        {"waitall",
         [&] {
           std::array<MPI_Request, 2> requests{};
           std::array<MPI_Status, 2> statuses{};
           MPI_Irecv(&value, 1, MPI_INT, lost, kTag, MPI_COMM_WORLD, &requests[0]);
           MPI_Isend(large.data(), static_cast<int>(large.size()), MPI_CHAR, lost, 8,
                     MPI_COMM_WORLD, &requests[1]);
           const int code = MPI_Waitall(2, requests.data(), statuses.data());
           expect_loss(code_in(code, statuses[0]));
           expect_loss(code_in(code, statuses[1]));
         }},
        {"test",
         [&] {
           MPI_Request request = MPI_REQUEST_NULL;
           MPI_Irecv(&value, 1, MPI_INT, lost, kTag, MPI_COMM_WORLD, &request);
           int flag = 0;
           int code = MPI_SUCCESS;
           while (flag == 0 && code == MPI_SUCCESS)
             code = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
           expect_loss(code);
         }},
        {"any", [&] { wait_for_any(world); }},
        {"allreduce",
         [&] {
           expect_loss(MPI_Allreduce(&one, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
           expect_loss(MPI_Barrier(MPI_COMM_WORLD));
         }},
        {"ibarrier",
         [&] {
           MPI_Request request = MPI_REQUEST_NULL;
           int code = MPI_Ibarrier(MPI_COMM_WORLD, &request);
           if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
           expect_loss(code);
         }},
        {"dup",
         [&] {
           MPI_Comm made = MPI_COMM_NULL;
           expect_loss(MPI_Comm_dup(MPI_COMM_WORLD, &made));
         }},
        {"split",
         [&] {
           MPI_Comm made = MPI_COMM_NULL;
           expect_loss(MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &made));
         }},
        {"group",
         [&] {
           MPI_Group all = MPI_GROUP_NULL;
           MPI_Comm made = MPI_COMM_NULL;
           MPI_Comm_group(MPI_COMM_WORLD, &all);
           expect_loss(MPI_Comm_create_group(MPI_COMM_WORLD, all, 3, &made));
           MPI_Group_free(&all);
         }},
#if MPI_VERSION >= 4
        {"from_group",
         [&] {
           MPI_Group all = MPI_GROUP_NULL;
           MPI_Comm made = MPI_COMM_NULL;
           MPI_Comm_group(MPI_COMM_WORLD, &all);
           MPI_Comm_create_from_group(all, "left behind", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made);
         }},
#endif
        {"window", [&] {
           MPI_Win window = MPI_WIN_NULL;
           MPI_Win_create(&value, sizeof(value), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
           MPI_Barrier(MPI_COMM_WORLD);
           MPI_Win_fence(0, window);
         }},
  };
  if (!ways.contains(way)) give_up("this MPI library has no such function", 0, way.c_str());
  ways.at(way)();
}

/// Makes a communicator of the survivors, and uses it.
bool go_on(const World& world) {
  const int first = 0;
  const int last = world.size - 1;
  if (world.rank == first || world.rank == last) {
    int theirs = -1;
    if (MPI_Sendrecv(&world.rank, 1, MPI_INT, first + last - world.rank, 9, &theirs, 1, MPI_INT,
                     first + last - world.rank, 9, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE) != MPI_SUCCESS ||
        theirs != first + last - world.rank)
      return false;
  }
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group survivors = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_excl(all, static_cast<int>(world.lost.size()), world.lost.data(), &survivors);
  MPI_Comm comm = MPI_COMM_NULL;
  if (MPI_Comm_create_group(MPI_COMM_WORLD, survivors, 5, &comm) != MPI_SUCCESS) return false;
  MPI_Group_free(&all);
  MPI_Group_free(&survivors);
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  const int others = world.size - static_cast<int>(world.lost.size());
  int from = -1;
  if (MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % others, 1, &from, 1, MPI_INT,
                   (rank + others - 1) % others, 1, comm, MPI_STATUS_IGNORE) != MPI_SUCCESS)
    return false;
  int sum = 0;
  if (MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm) != MPI_SUCCESS) return false;
  MPI_Comm copy = MPI_COMM_NULL;
  if (MPI_Comm_dup(comm, &copy) != MPI_SUCCESS || MPI_Barrier(copy) != MPI_SUCCESS) return false;
  MPI_Comm_free(&copy);
  MPI_Comm_free(&comm);
  return from == (rank + others - 1) % others && sum == others * (others - 1) / 2;
}

void count_error(MPI_Comm* /*comm*/, int* /*code*/, ...) { ++errors_handled; }

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const std::string way = argc > 1 ? argv[1] : "recv";
  const std::string mode = argc > 2 ? argv[2] : "";
  const World world = look_around();
  MPI_Errhandler handler = MPI_ERRORS_RETURN;
  if (mode == "handler") MPI_Comm_create_errhandler(count_error, &handler);
  if (mode != "fatal" || world.rank != world.size - 1)
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.system == kLostSystem && way == "cut") {
    std::printf("left behind: rank %d waits\n", world.rank);
    std::fflush(stdout);
    int value = 0;
    MPI_Recv(&value, 1, MPI_INT, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
  }
  if (world.system == kLostSystem) {
    // So that most of the others wait when it comes; the rest may be early.
    usleep(300'000);
    if (world.rank == world.lost.front()) raise(SIGKILL);
    pause();
  }
  wait_for_lost(world, way);
  const bool went_on = go_on(world) && (mode != "handler" || errors_handled > 0);
  std::printf("left behind: rank %d %s\n", world.rank, went_on ? "went on" : "failed");
  std::fflush(stdout);
  MPI_Finalize();
  return went_on ? 0 : 2;
}
