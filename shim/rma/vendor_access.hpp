// SPDX-License-Identifier: Apache-2.0
/// Accesses inside this system that are the vendor's: puts and gets, and accumulates if the program
/// asks for that.
#pragma once

#include <mpi.h>

#include "shim/rma/access.hpp"

namespace impishim::shim {

/// Puts to, and gets from, a target in this system. Return codes of the vendor that have been
/// raised.
int native_put(const AccessCall& call, const OriginElements& origin, const TargetElements& target);
int native_get(const AccessCall& call, const OriginElements& result, const TargetElements& target);

// The same for accumulates. They are not atomic beside those of other systems.

int native_accumulate(const AccessCall& call, const OriginElements& origin,
                      const TargetElements& target, MPI_Op op);
int native_get_accumulate(const AccessCall& call, const OriginElements& origin,
                          const OriginElements& result, const TargetElements& target, MPI_Op op);
int native_compare_and_swap(const AccessCall& call, const void* origin, const void* compare,
                            void* result, const TargetElements& target);

}  // namespace impishim::shim
