// SPDX-License-Identifier: Apache-2.0
/// What the synchronisation calls of one-sided communication have in common.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>

#include "shim/job/job.hpp"
#include "shim/rma/outstanding_requests.hpp"
#include "shim/rma/window.hpp"
#include "wire/window/window_request.hpp"

namespace impishim::shim {

/// Sends a request that is answered and carries no data: a flush, a lock or an unlock.
std::shared_ptr<AskedRequest> ask_target(Job& job, Window& window, std::int32_t target,
                                         wire::WindowRequestKind kind, bool exclusive = false)
    IMPISHIM_REQUIRES(window.mutex);

/// Asks a target for its lock if this epoch needs it and has not asked yet. Returns when a local
/// target has granted it, since the vendor's puts do not wait there.
void acquire_lock(Job& job, Window& window, std::int32_t target);

/// Waits until nothing to `target`, or OutstandingRequests::kAllTargets, is outstanding.
void settle(Job& job, Window& window, std::int32_t target);

/// Raises the first error that requests of this window have met since the last call.
int raise_errors(Job& job, Window& window, const char* function);

/// Completes the vendor's puts and gets to a target, or to all, at the targets. Returns the
/// vendor's code, which has been raised.
int flush_vendor(Window& window, std::int32_t target);
/// Completes them at this process only.
int flush_vendor_here(Window& window, std::int32_t target);

/// Completes all requests to a target, or to all, at the targets. Returns a code that has been
/// raised.
int flush(Job& job, Window& window, std::int32_t target, const char* function);

/// Ends a flush of a target at a moment with no other request than the vendor's: calls
/// `vendor_flush` if the vendor has any. Returns a code that has been raised.
int end_quiet_flush(Job& job, Window& window, std::int32_t target, bool in_vendor,
                    int (*vendor_flush)(int, MPI_Win), const char* function);

/// Waits until all members have ended their use of the window. Collective. Returns a code that has
/// been raised.
int finish_window(Job& job, Window& window, const char* function);

/// Raises MPI_ERR_RANK if a target is no member of the window. Returns the code.
int check_target(const Window& window, std::int32_t target, const char* function);

/// Raises MPI_ERR_RMA_SYNC with a text, unless it is null. Returns the code.
int raise_mistake(const Window& window, const char* mistake, const char* function);

}  // namespace impishim::shim
