// SPDX-License-Identifier: Apache-2.0
/// How many queues the processes of a job keep, for programs that check what they hold: the
/// README's words on hosts and representatives as numbers.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include "impishim/impishim.h"
#include "tests/support/check.hpp"

namespace impishim_test {

/// A number that the test sets in the environment; without it the job ends.
inline std::size_t variable(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) std::fprintf(stderr, "%s is not set\n", name);
  REQUIRE(text != nullptr);
  return std::strtoul(text, nullptr, 10);
}

struct Queues {
  std::size_t local;   ///< to the other processes of the host
  std::size_t remote;  ///< to other hosts
};

/// Of any process, at most, where every host has IMPISHIM_HOST_PROCS processes, which take turns in
/// representing it.
inline Queues most_queues() {
  const std::size_t procs = variable("IMPISHIM_HOST_PROCS");
  int* hosts = nullptr;
  int found = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, IMPI_HOST_SIZE, static_cast<void*>(&hosts), &found);
  REQUIRE(found != 0);
  return {procs - 1, (static_cast<std::size_t>(*hosts) - 1 + procs - 1) / procs};
}

}  // namespace impishim_test
