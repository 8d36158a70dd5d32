// SPDX-License-Identifier: Apache-2.0
/// Several operations at once: started in the same order everywhere, completed in any.
#pragma once

#include <cstddef>
#include <deque>

#include "tests/mpi/collectives/sweep/operation.hpp"

namespace sweep {

class Batch {
 public:
  explicit Batch(std::uint64_t own_seed) : random_(own_seed) {}

  /// Begins the operation: a blocking one is over then.
  void add(Operation operation, Form form, bool large, std::uint64_t seed);
  /// Completes what is in progress, in an order and by functions of this process's choice; starts
  /// persistent ones again. With `free_early` the handles of datatypes and operations are freed
  /// before, where MPI allows it.
  void finish(bool free_early);
  [[nodiscard]] int failures() const { return failures_; }

 private:
  struct Started {
    Operation operation;
    Form form;
    bool large;
    std::uint64_t seed;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  [[nodiscard]] bool some_persistent() const;
  void complete();
  void restart(int round);
  void check(const Started& started);

  Random random_;
  std::deque<Started> started_;
  int failures_ = 0;
};

/// Completes all requests, by a function and in an order that `random` chooses. Persistent ones
/// become inactive.
void complete_all(std::vector<MPI_Request>& requests, Random& random, bool some_persistent);

}  // namespace sweep
