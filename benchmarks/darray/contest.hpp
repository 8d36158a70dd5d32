// SPDX-License-Identifier: Apache-2.0
/// What the programs of scripts/bench darray have in common: contestants that take turns and are
/// timed, results that are printed.
///
/// Every line of results begins with "bench " and is JSON: a time of a contestant in a case, or a
/// fact that holds or not.
#pragma once

#include <mpi.h>

#include <functional>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

/// How a program was called: PROGRAM ROUNDS|smoke ROW... (no row: all of them).
struct Setting {
  MPI_Comm comm = MPI_COMM_WORLD;
  int rank = 0;
  int size = 1;
  int rounds = 30;     ///< at least so many, more of those that are short
  bool smoke = false;  ///< one round of small arrays: whether all is right, not how fast
  std::set<std::string, std::less<>> rows;

  [[nodiscard]] bool wants(std::initializer_list<std::string_view> some) const;
  /// An extent, for a smoke test a small one.
  [[nodiscard]] long extent(long full) const { return smoke ? full / 8 : full; }
};

/// Begins MPI, puts every rank on a processor of its own, reads the arguments. Ends the program
/// with a text for wrong ones.
Setting begin(int argc, char** argv);

/// Ends MPI, when all ranks are through. Says "bench over" before.
void end(const Setting& setting);

/// Ends the whole job: something measured is wrong.
[[noreturn]] void give_up(const std::string& text);

/// Contestants of one case. They take turns in every round, each at the beginning of as many rounds
/// as the others, after a run that does not count; a round repeats what is short, and a time is
/// that of the slowest rank.
class Contest {
 public:
  Contest(const Setting& setting, std::string title)
      : setting_(setting), title_(std::move(title)) {}

  /// What verifies a contestant: `spoil` destroys results, and after one more run `right` tells
  /// whether they are there again.
  struct Check {
    std::function<void()> spoil;
    std::function<bool()> right;
  };
  void add(std::string name, std::function<void()> run, Check check = {});

  /// Measures, verifies each contestant, prints. `repeats`: runs in a row that are timed together;
  /// 0: as many as make a round long enough for the clock, and shorter than a tick of the scheduler
  /// if that can be.
  void measure(int repeats = 0);

 private:
  struct Contestant {
    std::string name;
    std::function<void()> run;
    Check check;
    std::vector<double> seconds;  // of each round
  };
  [[nodiscard]] double time(Contestant& contestant, int repeats) const;
  [[nodiscard]] double slowest(double seconds) const;
  [[nodiscard]] bool everywhere(bool holds) const;
  void verify(Contestant& contestant) const;
  void print(Contestant& contestant) const;

  const Setting& setting_;
  std::string title_;
  std::vector<Contestant> contestants_;
};

/// Prints a fact that has nothing to do with time: whether it holds on all ranks, and in words what
/// was found on rank 0.
void print_fact(const Setting& setting, const std::string& title, bool holds,
                const std::string& text);

/// Keeps the compiler from leaving out what produces `value`, and from knowing memory behind it.
template <class T>
void keep(T&& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

}  // namespace bench
