// SPDX-License-Identifier: Apache-2.0
// Everybody floods everybody through relays, and half of the ranks, some of them relays, stand
// still for a second and are slow to receive. Everything arrives whole and in order, and no process
// has held more for others than the README's formula allows.
#include <spawn.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/check.hpp"
#include "tests/support/content.hpp"
#include "tests/support/hosts.hpp"

namespace {

using impishim_test::content;
using impishim_test::variable;

constexpr int kMessages = 150;
constexpr std::size_t kHeader = 128;  // of a packet

std::size_t datalen() { return variable("IMPISHIM_DATALEN"); }

/// Of one packet, and now and then of several.
std::size_t size_of_message(int number) {
  return number % 25 == 24 ? 3 * datalen() + 7 : datalen() - static_cast<std::size_t>(number);
}

std::uint64_t seed_of(int from, int to, int number) {
  return (static_cast<std::uint64_t>(from) * 100 + static_cast<std::uint64_t>(to)) * 1000 +
         static_cast<std::uint64_t>(number);
}

void compute(double seconds) {
  for (const double end = MPI_Wtime() + seconds; MPI_Wtime() < end;) {
  }
}

/// The whole process, threads of the library's included: a helper stops and wakes it.
void stand_still() {
  std::string shell = "sh";
  std::string option = "-c";
  std::string command = "kill -STOP $PPID; sleep 1; kill -CONT $PPID";
  const std::array<char*, 4> words{shell.data(), option.data(), command.data(), nullptr};
  std::array<char*, 1> no_variables{nullptr};  // the library is for this program, not for the shell
  pid_t helper = -1;
  REQUIRE_EQUAL(
      posix_spawn(&helper, "/bin/sh", nullptr, nullptr, words.data(), no_variables.data()), 0);
  int status = -1;
  REQUIRE_EQUAL(waitpid(helper, &status, 0), helper);
  REQUIRE_EQUAL(status, 0);
}

void receive_all(int rank, int size) {
  const bool slow = rank % 2 == 1;
  std::vector<unsigned char> data(4 * datalen());
  if (slow) stand_still();
  for (int number = 0; number < kMessages; ++number) {
    for (int step = 1; step < size; ++step) {
      const int from = (rank + step) % size;
      MPI_Status status;
      int bytes = 0;
      MPI_Recv(data.data(), static_cast<int>(data.size()), MPI_BYTE, from, 0, MPI_COMM_WORLD,
               &status);
      MPI_Get_count(&status, MPI_BYTE, &bytes);
      REQUIRE_EQUAL(bytes, size_of_message(number));
      REQUIRE(
          impishim_test::holds(data.data(), size_of_message(number), seed_of(from, rank, number)));
      if (slow) compute(0.0005);
    }
  }
}

void flood(int rank, int size) {
  std::vector<std::vector<unsigned char>> messages;
  std::vector<MPI_Request> requests;
  messages.reserve(static_cast<std::size_t>(kMessages) * static_cast<std::size_t>(size));
  MPI_Barrier(MPI_COMM_WORLD);
  for (int number = 0; number < kMessages; ++number) {
    for (int to = 0; to < size; ++to) {
      if (to == rank) continue;
      messages.push_back(content(size_of_message(number), seed_of(rank, to, number)));
      requests.push_back(MPI_REQUEST_NULL);
      MPI_Isend(messages.back().data(), static_cast<int>(messages.back().size()), MPI_BYTE, to, 0,
                MPI_COMM_WORLD, &requests.back());
    }
  }
  receive_all(rank, size);
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

std::size_t bound() {
  const impishim_test::Queues queues = impishim_test::most_queues();
  const std::size_t packet = datalen() + kHeader;
  return queues.local * (variable("IMPISHIM_LOCAL_SENDER_LIMIT") + packet) +
         queues.remote * (variable("IMPISHIM_REMOTE_SENDER_LIMIT") + packet);
}

/// What the library has written at its end; -1: it is not there.
long statistic(int rank, const std::string& name) {
  const char* prefix = std::getenv("IMPISHIM_STATS");
  std::ifstream file(std::string(prefix != nullptr ? prefix : "") + "." + std::to_string(rank) +
                     ".json");
  std::stringstream text;
  text << file.rdbuf();
  const std::string key = "\"" + name + "\": ";
  const std::size_t at = text.str().find(key);
  return at == std::string::npos ? -1
                                 : std::strtol(text.str().c_str() + at + key.size(), nullptr, 10);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = impishim_test::rank_in(MPI_COMM_WORLD);
  flood(rank, impishim_test::size_of(MPI_COMM_WORLD));
  const auto most = static_cast<long>(bound());
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) std::printf("relay flood: all received\n");
  MPI_Finalize();
  const long held = statistic(rank, "relay_bytes_peak");
  std::fprintf(stderr, "rank %d has held %ld bytes for others, of at most %ld; %ld stalls\n", rank,
               held, most, statistic(rank, "relay_stalls"));
  return held >= 0 && held <= most ? 0 : 1;
}
