// SPDX-License-Identifier: Apache-2.0
// A sweep over collectives, seeded: thousands of calls with arguments drawn from (function, form,
// datatype, operation, count, root, in place or not, communicator). Every process draws the same
// calls and computes by itself what must come of them; bytes that nothing belongs to must stay as
// they were. Prints how many calls of each function were made; a difference makes it end with 1.
//
//   sweep intra|topology|inter BATCHES SEED [ONLY]     ONLY: the number of one batch, to repeat it
//   alone
//
// SWEEP_TRACE in the environment: every call is told beforehand.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

#include "tests/mpi/collectives/sweep/batch.hpp"
#include "tests/mpi/collectives/sweep/left_out.hpp"
#include "tests/support/check.hpp"

namespace sweep {
namespace {

constexpr std::uint64_t kMostInBatch = 5;
constexpr std::uint64_t kOneIsBig = 120;  ///< of so many calls

using Totals = std::array<int, kFunctionCount>;

std::vector<Function> functions_on(const Space& space) {
  std::vector<Function> functions;
  for (std::size_t i = 0; i < kFunctionCount; ++i) {
    const auto function = static_cast<Function>(i);
    const bool neighbours = function >= Function::kNeighborAllgather;
    if (neighbours != space.topology()) continue;
    if (space.inter() && (function == Function::kScan || function == Function::kExscan)) continue;
    functions.push_back(function);
  }
  return functions;
}

const char* name(Form form) {
  constexpr const char* kNames[] = {"", " (nonblocking)", " (persistent)"};
  return kNames[static_cast<std::size_t>(form)];
}

/// Once for each kind of call.
void tell_once(const Operation& operation, Form form, const char* reason) {
  static std::set<std::string> told;
  const std::string what = std::string(name(operation.function)) + name(form) + ": " + reason;
  if (impishim_test::rank_in(MPI_COMM_WORLD) != 0 || !told.insert(what).second) return;
  std::fprintf(stderr, "left out on communicators of one system: %s\n", what.c_str());
}

/// Draws one call and begins it.
void one_call(const std::vector<Space>& spaces, std::uint64_t seed, const std::string& number,
              Batch& batch, Totals& totals) {
  Random random(seed);
  const Space& space = spaces[random.below(spaces.size())];
  const std::vector<Function> functions = functions_on(space);
  const Function function = functions[random.below(functions.size())];
  constexpr Form kForms[] = {Form::kBlocking, Form::kBlocking, Form::kNonblocking,
                             Form::kNonblocking, Form::kPersistent};
  const Form form = kForms[random.below(std::size(kForms))];
  const bool large = random.below(4) == 0 && MPI_VERSION >= 4 && function != Function::kBarrier;
  const bool big = random.below(kOneIsBig) == 0;
  ++totals[static_cast<std::size_t>(function)];
  if (space.comm == MPI_COMM_NULL) return;

  const std::uint64_t shared = mix(random.next(), static_cast<std::uint64_t>(space.identity()));
  const auto me = static_cast<std::uint64_t>(impishim_test::rank_in(MPI_COMM_WORLD));
  Draft draft{space, Random(shared), Random(mix(shared, me)), big, needs_plain_types(space), {}};
  draft.operation.function = function;
  draft.operation.text = "rank " + std::to_string(me) + ", call " + number + ": " + name(function) +
                         name(form) + (large ? " (large counts)" : "") + " on " + space.name;
  draft.operation.arguments.comm = space.comm;
  if (space.topology()) {
    draft_neighbourhood(draft);
  } else if (function >= Function::kReduce) {
    draft_reduction(draft);
  } else {
    draft_movement(draft);
  }
  if (const char* reason = left_out(space, draft.operation, form); reason != nullptr)
    return tell_once(draft.operation, form, reason);
  batch.add(std::move(draft.operation), form, large, shared);
}

int one_batch(const std::vector<Space>& spaces, std::uint64_t seed, int number, Totals& totals) {
  Random random(mix(seed, static_cast<std::uint64_t>(number)));
  const auto me = static_cast<std::uint64_t>(impishim_test::rank_in(MPI_COMM_WORLD));
  Batch batch(mix(random.next(), me));
  const auto calls = 1 + random.below(kMostInBatch);
  for (std::uint64_t i = 0; i < calls; ++i) {
    one_call(spaces, random.next(), std::to_string(number) + "." + std::to_string(i), batch,
             totals);
  }
  batch.finish(random.below(2) == 0);
  return batch.failures();
}

}  // namespace
}  // namespace sweep

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  REQUIRE(argc >= 4);
  const int only = argc > 4 ? std::atoi(argv[4]) : -1;
  std::vector<sweep::Space> spaces = sweep::make_spaces(argv[1]);
  sweep::Totals totals{};
  int failures = 0;
  for (int number = 0; number < std::atoi(argv[2]); ++number) {
    if (only < 0 || only == number) {
      failures += sweep::one_batch(spaces, std::strtoull(argv[3], nullptr, 10), number, totals);
    }
  }
  sweep::free_spaces(spaces);
  for (std::size_t i = 0; i < totals.size() && impishim_test::rank_in(MPI_COMM_WORLD) == 0; ++i) {
    if (totals[i] > 0)
      std::printf("sweep %s: %s %d\n", argv[1], name(static_cast<sweep::Function>(i)), totals[i]);
  }
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
