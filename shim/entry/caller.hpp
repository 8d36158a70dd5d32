// SPDX-License-Identifier: Apache-2.0
/// Whose call it is that enters a wrapper: the user's, or one that the vendor's own library makes.
#pragma once

#include "shim/job/job.hpp"

namespace impishim::shim {

/// True if `address` lies in the vendor's Fortran layer (IMPISHIM_VENDOR_FORTRAN), which the vendor
/// itself never calls. Open MPI's hands the user's Fortran callbacks over inside the library, so
/// that no trampoline (callbacks.hpp) stands before them: what it calls while the thread is inside
/// the vendor was called in such a callback. Always false where that is empty.
[[nodiscard]] bool in_fortran_layer(const void* address);

/// Returns the path of the vendor's Fortran layer; null while it is not loaded.
[[nodiscard]] const char* fortran_layer_path();

inline constexpr bool kHasFortranLayer = sizeof(IMPISHIM_VENDOR_FORTRAN) > 1;

/// The return address of a `direct` wrapper that finds its thread inside the vendor; an argument
/// more would have that wrapper keep a frame on all its ways.
inline thread_local const void* caller_inside_vendor __attribute__((tls_model("initial-exec"))) =
    nullptr;

/// joined(), as a wrapper asks it: the call that the return address of the wrapper belongs to
/// counts.
[[nodiscard, gnu::always_inline]] inline Job* called_by_user() {
  Job* job = the_job.load(std::memory_order_acquire);
  if (job == nullptr || vendor_depth.value() == 0) return job;
  if constexpr (!kHasFortranLayer) return nullptr;
  return in_fortran_layer(__builtin_return_address(0)) ? job : nullptr;
}

}  // namespace impishim::shim
