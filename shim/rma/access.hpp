// SPDX-License-Identifier: Apache-2.0
/// Puts, gets and accumulates on windows that span systems: the requests behind all forms of the
/// MPI functions (MPI-4.0 12.3).
#pragma once

#include <mpi.h>

#include <cstdint>

#include "shim/job/job.hpp"
#include "shim/rma/window.hpp"

namespace impishim::shim {

/// Elements in the origin's memory. A null pointer stands for MPI_BOTTOM, too.
struct OriginElements {
  void* address = nullptr;
  MPI_Count count = 0;
  MPI_Datatype datatype = MPI_DATATYPE_NULL;
};
/// Elements that only are read.
[[nodiscard]] inline OriginElements origin_of(const void* address, MPI_Count count,
                                              MPI_Datatype datatype) {
  return {const_cast<void*>(address), count, datatype};
}

/// Elements in a target's window.
struct TargetElements {
  int rank = MPI_PROC_NULL;
  MPI_Aint displacement = 0;
  MPI_Count count = 0;
  MPI_Datatype datatype = MPI_DATATYPE_NULL;
};

/// One call: the window, the function's name for errors, and where the request goes that the user
/// waits for. Without a request the next synchronisation completes the operation.
struct AccessCall {
  Job& job;
  Window& window;
  const char* function;
  MPI_Request* request = nullptr;
};

// Each returns MPI_SUCCESS or a code that has been raised.

int put(const AccessCall& call, const OriginElements& origin, const TargetElements& target);
int get(const AccessCall& call, const OriginElements& result, const TargetElements& target);
int accumulate(const AccessCall& call, const OriginElements& origin, const TargetElements& target,
               MPI_Op op);
int get_accumulate(const AccessCall& call, const OriginElements& origin,
                   const OriginElements& result, const TargetElements& target, MPI_Op op);
int compare_and_swap(const AccessCall& call, const void* origin, const void* compare, void* result,
                     const TargetElements& target);

}  // namespace impishim::shim
