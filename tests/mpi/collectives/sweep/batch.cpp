// SPDX-License-Identifier: Apache-2.0
#include "tests/mpi/collectives/sweep/batch.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "tests/support/check.hpp"

namespace sweep {
namespace {

constexpr int kRounds = 3;  ///< of a persistent operation

void one_by_one(std::vector<MPI_Request>& requests, Random& random, bool by_tests) {
  for (const std::size_t i : shuffled(requests.size(), random)) {
    int done = 0;
    if (by_tests) {
      while (done == 0) MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE);
    } else {
      MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    }
  }
}

/// Requests in progress, and where they belong. Completed ones are taken out: MPICH 4.0.2 takes
/// inactive persistent collectives for complete ones, again and again.
class UnderWay {
 public:
  explicit UnderWay(std::vector<MPI_Request>& all) : all_(all) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i] == MPI_REQUEST_NULL) continue;
      requests_.push_back(all[i]);
      places_.push_back(i);
    }
  }

  [[nodiscard]] bool empty() const { return requests_.empty(); }
  [[nodiscard]] int count() const { return static_cast<int>(requests_.size()); }
  MPI_Request* requests() { return requests_.data(); }

  /// Those with these indices are complete.
  void take_out(std::vector<int> indices) {
    std::ranges::sort(indices, std::greater<>());
    for (const int index : indices) {
      const auto i = static_cast<std::size_t>(index);
      all_[places_[i]] = requests_[i];
      requests_.erase(requests_.begin() + index);
      places_.erase(places_.begin() + index);
    }
  }

 private:
  std::vector<MPI_Request>& all_;
  std::vector<MPI_Request> requests_;
  std::vector<std::size_t> places_;
};

void any_first(std::vector<MPI_Request>& requests, bool by_tests) {
  for (UnderWay left(requests); !left.empty();) {
    int index = MPI_UNDEFINED;
    int done = 1;
    MPI_Status status;
    if (by_tests) {
      MPI_Testany(left.count(), left.requests(), &index, &done, &status);
    } else {
      MPI_Waitany(left.count(), left.requests(), &index, &status);
    }
    if (done != 0) left.take_out({index});
  }
}

void some_at_a_time(std::vector<MPI_Request>& requests, bool by_tests) {
  for (UnderWay left(requests); !left.empty();) {
    std::vector<int> indices(static_cast<std::size_t>(left.count()));
    int done = 0;
    (by_tests ? MPI_Testsome : MPI_Waitsome)(left.count(), left.requests(), &done, indices.data(),
                                             MPI_STATUSES_IGNORE);
    indices.resize(static_cast<std::size_t>(done));
    left.take_out(indices);
  }
}

void all_at_once(std::vector<MPI_Request>& requests, bool by_tests) {
  const int count = static_cast<int>(requests.size());
  if (!by_tests) {
    MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE);
    return;
  }
  for (int done = 0; done == 0;) MPI_Testall(count, requests.data(), &done, MPI_STATUSES_IGNORE);
}

}  // namespace

void complete_all(std::vector<MPI_Request>& requests, Random& random, bool some_persistent) {
  const bool by_tests = random.below(2) == 0;
  switch (random.below(4)) {
    case 0:
      return one_by_one(requests, random, by_tests);
    case 1:
      return any_first(requests, by_tests);
    case 2:
      return some_at_a_time(requests, by_tests);
    // MPICH 4.0.2's MPI_Testall ends in an error where there are persistent collectives.
    default:
      return all_at_once(requests, by_tests && !some_persistent);
  }
}

void Batch::add(Operation operation, Form form, bool large, std::uint64_t seed) {
  Started& added = started_.emplace_back(Started{std::move(operation), form, large, seed});
  Operation& made = added.operation;
  made.make_buffers();
  made.fill(seed);
  if (std::getenv("SWEEP_TRACE") != nullptr) std::fprintf(stderr, "%s\n", made.text.c_str());
  REQUIRE_EQUAL(call(made.function, form, large, made.arguments, &added.request), MPI_SUCCESS);
  if (form == Form::kPersistent) MPI_Start(&added.request);
  if (form == Form::kBlocking) check(added);
}

void Batch::check(const Started& started) {
  const std::string difference = started.operation.difference();
  if (difference.empty()) return;
  ++failures_;
  std::fprintf(stderr, "%s: %s\n", started.operation.text.c_str(), difference.c_str());
}

bool Batch::some_persistent() const {
  return std::ranges::any_of(
      started_, [](const Started& started) { return started.form == Form::kPersistent; });
}

void Batch::complete() {
  std::vector<MPI_Request> requests;
  for (const Started& started : started_) requests.push_back(started.request);
  complete_all(requests, random_, some_persistent());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    started_[i].request = requests[i];
    REQUIRE_EQUAL(requests[i] == MPI_REQUEST_NULL, started_[i].form != Form::kPersistent);
  }
}

/// In the order in which they were made: on one communicator it is the same for all members.
void Batch::restart(int round) {
  for (Started& started : started_) {
    if (started.form != Form::kPersistent) continue;
    started.operation.fill(mix(started.seed, static_cast<std::uint64_t>(round)));
    MPI_Start(&started.request);
  }
}

void Batch::finish(bool free_early) {
  const auto free_handles = [&] {
    layouts().free_handles();
    for (Started& started : started_) {
      MPI_Op& op = started.operation.arguments.op;
      if (started.operation.user_operation) MPI_Op_free(&op);
      started.operation.user_operation = false;
    }
  };
  // A persistent operation that is inactive need not keep its handles.
  if (free_early && !some_persistent()) free_handles();
  for (int round = 0; round < kRounds; ++round) {
    if (round > 0) restart(round);
    complete();
    for (const Started& started : started_) {
      const bool over =
          started.form == Form::kPersistent || (started.form == Form::kNonblocking && round == 0);
      if (over) check(started);
    }
  }
  for (Started& started : started_) {
    if (started.request != MPI_REQUEST_NULL) MPI_Request_free(&started.request);
  }
  free_handles();
  layouts().forget();
  started_.clear();
}

}  // namespace sweep
