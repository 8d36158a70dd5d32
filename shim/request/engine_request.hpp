// SPDX-License-Identifier: Apache-2.0
/// Requests that are an operation of the engine, with a process of another system.
#pragma once

#include "shim/request/request.hpp"

namespace impishim::shim {

[[nodiscard]] const RequestKind& engine_send();
[[nodiscard]] const RequestKind& engine_receive();

/// Starts the engine's part of a receive. Returns a code that was not raised.
[[nodiscard]] int start_engine_receive(Job& job, Request& request, bool has_twin);
/// Fills `status` from the engine's part of a receive. Returns the code of its error, not raised.
[[nodiscard]] int read_engine_receive(Job& job, const Request& request, MPI_Status* status);

}  // namespace impishim::shim
