// SPDX-License-Identifier: Apache-2.0
// Runs seeds of the simulation until one of them breaks a promise.
//   resume_simulation --seeds N [--first S] [--level stream|striped|engine|loss|all]
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>

#include "tests/simulation/levels.hpp"
#include "tests/simulation/violation.hpp"

namespace {

using namespace impishim::wire::test;

/// A seed that takes longer never ends.
constexpr unsigned kLongestSeed = 60;

std::string running;  // NOLINT: the seed that the handler of a signal names

/// Names the seed in which an assertion fails, or which never ends.
void name_seed(int signal_number) {
  static_cast<void>(!write(STDERR_FILENO, running.data(), running.size()));
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

void run_seed(const std::string& level, std::uint64_t seed, SimulationTotals& totals) {
  if (level == "stream") return run_stream_seed(seed, totals);
  if (level == "striped") return run_striped_seed(seed, totals);
  return level == "loss" ? run_loss_seed(seed, totals) : run_engine_seed(seed, totals);
}

/// Returns true if no seed breaks a promise.
bool run_level(const std::string& level, std::uint64_t first, std::uint64_t seeds) {
  const auto begin = std::chrono::steady_clock::now();
  SimulationTotals totals;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    running = fmt::format("{}: seed {} has crashed, or never ends\n", level, seed);
    alarm(kLongestSeed);
    try {
      run_seed(level, seed, totals);
    } catch (const Violation& violation) {
      fmt::print("{}: seed {}: {}\n", level, seed, violation.what());
      return false;
    }
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  fmt::print(
      "{}: {} seeds, {:.1f} a second; {} bytes in {} messages, {} cuts, {} connections more, {} "
      "bytes sent again\n",
      level, seeds, static_cast<double>(seeds) / took.count(), totals.bytes, totals.messages,
      totals.cuts, totals.connections, totals.repeated);
  return true;
}

int run(int argc, char** argv) {
  CLI::App app("Resumable channels on a simulated network, by seeds.");
  std::uint64_t seeds = 1;
  std::uint64_t first = 1;
  std::string level = "all";
  app.add_option("--seeds", seeds, "how many seeds to run")->required();
  app.add_option("--first", first, "the first seed");
  app.add_option("--level", level, "stream, striped, engine, loss or all")
      ->check(CLI::IsMember({"stream", "striped", "engine", "loss", "all"}));
  CLI11_PARSE(app, argc, argv);
  for (const int each : {SIGABRT, SIGSEGV, SIGALRM}) signal(each, name_seed);
  bool kept = true;
  for (const std::string each : {"stream", "striped", "engine", "loss"}) {
    if (level == "all" || level == each) kept = run_level(each, first, seeds) && kept;
  }
  return kept ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s%s\n", running.c_str(), error.what());
    return 2;
  }
}
