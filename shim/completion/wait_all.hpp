// SPDX-License-Identifier: Apache-2.0
/// Completion of an array of requests as a whole (MPI_Waitall and similar calls), native and own
/// requests mixed.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <optional>
#include <span>

#include "shim/handle/call_array.hpp"
#include "shim/job/job.hpp"

namespace impishim::shim {

struct Request;

/// Completes, in place, the requests of an array that are complete; keeps the statuses and codes
/// until all are.
class AllOf {
 public:
  AllOf(Job& job, int count, MPI_Request* requests);
  AllOf(const AllOf&) = delete;
  AllOf& operator=(const AllOf&) = delete;

  /// Tests the remaining requests. Returns true if none remains.
  bool step();
  /// Copies the statuses out and raises MPI_ERR_IN_STATUS if any failed. MPI-3.1 3.7.5.
  int finish(MPI_Status* statuses, const char* function);

 private:
  struct Part {
    bool done = false;
    int code = MPI_SUCCESS;
    MPI_Status status{};
  };

  bool test(std::size_t i);
  bool finish_if_done(std::size_t i, const Request& request);
  void over(std::size_t i, int code, MPI_Comm comm);
  [[nodiscard]] bool all_move_by_themselves();

  Job& job_;
  MPI_Request* requests_;
  std::size_t first_ = 0;  ///< all requests before it are done
  /// Behind a pending request, no other needs a test; empty: not computed yet.
  std::optional<bool> all_move_by_themselves_;
  CallArray<Part> memory_;
  std::span<Part> parts_;
  MPI_Comm comm_ = MPI_COMM_WORLD;
  bool failed_ = false;
};

}  // namespace impishim::shim
