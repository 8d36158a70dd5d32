// SPDX-License-Identifier: Apache-2.0
/// Finds out who calls a wrapper: the user, or the vendor's own library.
#pragma once

#include "shim/job/job.hpp"

namespace impishim::shim {

/// Returns true if `address` is in the vendor's Fortran layer (IMPISHIM_VENDOR_FORTRAN), which the
/// vendor itself never calls. Open MPI's layer passes the user's Fortran callbacks to the library
/// internally, so that no trampoline (callbacks.hpp) precedes them. A call from the layer while the
/// thread is inside the vendor therefore comes from such a callback. Always false if
/// IMPISHIM_VENDOR_FORTRAN is empty.
[[nodiscard]] bool in_fortran_layer(const void* address);

/// Returns the path of the vendor's Fortran layer; null while it is not loaded.
[[nodiscard]] const char* fortran_layer_path();

inline constexpr bool kHasFortranLayer = sizeof(IMPISHIM_VENDOR_FORTRAN) > 1;

/// The return address of a `direct` wrapper that finds its thread inside the vendor. A variable,
/// because one more argument would make that wrapper keep a stack frame on all its paths.
inline thread_local const void* caller_inside_vendor __attribute__((tls_model("initial-exec"))) =
    nullptr;

/// Returns what joined() returns, for use in a wrapper: the call is identified by the return
/// address of the wrapper.
[[nodiscard, gnu::always_inline]] inline Job* called_by_user() {
  Job* job = the_job.load(std::memory_order_acquire);
  if (job == nullptr || vendor_depth.value() == 0) return job;
  if constexpr (!kHasFortranLayer) return nullptr;
  return in_fortran_layer(__builtin_return_address(0)) ? job : nullptr;
}

}  // namespace impishim::shim
