// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/darray/contest.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "benchmarks/settle.h"

namespace bench {
namespace {

constexpr double kRoundSeconds = 200e-6;  // what repetitions make a round of
constexpr double kCaseSeconds = 1.0;      // up to which a case gets more rounds than the fewest
constexpr int kMostRounds = 1000;
constexpr double kCoarsestTick = 1e-6;

}  // namespace

bool Setting::wants(std::initializer_list<std::string_view> some) const {
  return rows.empty() || std::any_of(some.begin(), some.end(),
                                     [this](std::string_view row) { return rows.count(row) > 0; });
}

Setting begin(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Setting setting;
  MPI_Comm_rank(setting.comm, &setting.rank);
  MPI_Comm_size(setting.comm, &setting.size);
  settle(setting.rank);
  if (argc < 2) give_up("usage: PROGRAM ROUNDS|smoke ROW...");
  setting.smoke = std::string_view(argv[1]) == "smoke";
  setting.rounds = setting.smoke ? 1 : std::atoi(argv[1]);
  setting.rows.insert(argv + 2, argv + argc);
  if (setting.rounds < 1) give_up("no number of rounds: " + std::string(argv[1]));
  if (MPI_Wtick() > kCoarsestTick) give_up("MPI_Wtime is too coarse");
  return setting;
}

void give_up(const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
  std::fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

void Contest::add(std::string name, std::function<void()> run, Check check) {
  contestants_.push_back({std::move(name), std::move(run), std::move(check), {}});
}

double Contest::time(Contestant& contestant, int repeats) const {
  contestant.run();  // so that everyone finds the caches as its own last run has left them, not
                     // somebody else's
  MPI_Barrier(setting_.comm);
  const double start = MPI_Wtime();
  for (int k = 0; k < repeats; ++k) contestant.run();
  return (MPI_Wtime() - start) / repeats;
}

double Contest::slowest(double seconds) const {
  double result = 0;
  MPI_Allreduce(&seconds, &result, 1, MPI_DOUBLE, MPI_MAX, setting_.comm);
  return result;
}

void Contest::measure(int repeats) {
  double turn = 0;
  double quickest = 0;
  for (Contestant& contestant : contestants_) {
    const double once = slowest(time(contestant, 1));
    quickest = quickest == 0 ? once : std::min(quickest, once);
    turn += once;
  }
  if (repeats == 0)
    repeats = static_cast<int>(
        std::clamp(std::ceil(kRoundSeconds / std::max(quickest, 1e-9)), 1.0, 10000.0));
  int rounds = setting_.rounds;
  if (setting_.smoke) {
    repeats = 1;
  } else {
    rounds = std::max(
        rounds, static_cast<int>(std::min(kCaseSeconds / (turn * repeats), double{kMostRounds})));
  }
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t k = 0; k < contestants_.size(); ++k) {
      Contestant& contestant =
          contestants_[(static_cast<std::size_t>(round) + k) % contestants_.size()];
      contestant.seconds.push_back(time(contestant, repeats));
    }
  }
  for (Contestant& contestant : contestants_) {
    verify(contestant);
    print(contestant);
  }
}

bool Contest::everywhere(bool holds) const {
  int all = holds ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, setting_.comm);
  return all != 0;
}

void Contest::verify(Contestant& contestant) const {
  if (!contestant.check.right) return;
  contestant.check.spoil();
  if (everywhere(contestant.check.right()))
    give_up(title_ + ": " + contestant.name + ": what is spoiled passes for right");
  contestant.run();
  if (!everywhere(contestant.check.right()))
    give_up(title_ + ": " + contestant.name + ": wrong result");
}

void Contest::print(Contestant& contestant) const {
  std::vector<double>& seconds = contestant.seconds;
  MPI_Allreduce(MPI_IN_PLACE, seconds.data(), static_cast<int>(seconds.size()), MPI_DOUBLE, MPI_MAX,
                setting_.comm);
  std::sort(seconds.begin(), seconds.end());
  if (setting_.rank != 0) return;
  std::printf(
      R"(bench {"case": "%s", "contestant": "%s", "min_us": %.5g, "median_us": %.5g, "rounds": %zu})"
      "\n",
      title_.c_str(), contestant.name.c_str(), seconds.front() * 1e6,
      seconds[seconds.size() / 2] * 1e6, seconds.size());
  std::fflush(stdout);
}

void end(const Setting& setting) {
  MPI_Barrier(setting.comm);
  if (setting.rank == 0) {
    std::puts("bench over");
    std::fflush(stdout);
  }
  MPI_Finalize();
}

void print_fact(const Setting& setting, const std::string& title, bool holds,
                const std::string& text) {
  int all = holds ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, setting.comm);
  if (setting.rank != 0) return;
  std::printf(R"(bench {"fact": "%s", "holds": %s, "text": "%s"})"
              "\n",
              title.c_str(), all != 0 ? "true" : "false", text.c_str());
  std::fflush(stdout);
}

}  // namespace bench
