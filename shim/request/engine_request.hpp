// SPDX-License-Identifier: Apache-2.0
/// Requests that are an operation of the engine, with a process of another system.
#pragma once

#include "shim/request/request.hpp"

namespace impishim::shim {

[[nodiscard]] const RequestKind& engine_send();
[[nodiscard]] const RequestKind& engine_receive();

/// Starts the engine's part of a receive in a context. Returns a code that was not raised.
[[nodiscard]] int start_engine_receive(Job& job, Request& request, wire::ContextId context,
                                       bool has_twin);
/// Fill `status` from the engine's part of a send or a receive. Return the code of its error, not
/// raised.
[[nodiscard]] int read_engine_send(Job& job, const Request& request, MPI_Status* status);
[[nodiscard]] int read_engine_receive(Job& job, const Request& request, MPI_Status* status);
/// As read_engine_receive() for a request whose failure may be pending, which it notes.
[[nodiscard]] int read_waiting_receive(Job& job, Request& request, MPI_Status* status);
/// Ends a receive whose failure is pending as a cancelled one. Returns false if there is none.
bool cancel_pending_failure(Request& request);

}  // namespace impishim::shim
