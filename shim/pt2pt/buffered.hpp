// SPDX-License-Identifier: Apache-2.0
/// MPI_Bsend to other systems: packed copies of our own, accounted against the buffer that the user
/// attached (MPI-3.1 3.6).
#pragma once

#include "shim/request/request.hpp"
#include "wire/data/type_layout.hpp"

namespace impishim::shim {

/// Where and how a buffered message goes.
struct BufferedMessage {
  Communicator& communicator;
  const char* function;  ///< for error messages
  int dest;              ///< spanning rank
  int tag;
  wire::ConstBuffer buffer;
};

/// Copies the data and starts a send that needs no further action of the user. Returns an MPI code
/// that was not raised.
[[nodiscard]] int send_buffered(Job& job, const BufferedMessage& message);

/// Returns the kind of a send in this mode to a process of another system, or to MPI_PROC_NULL.
[[nodiscard]] const RequestKind& send_kind(SendKind mode, int dest);

}  // namespace impishim::shim
