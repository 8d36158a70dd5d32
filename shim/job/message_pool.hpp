// SPDX-License-Identifier: Apache-2.0
/// Messages between MPI_Mprobe and MPI_Mrecv on spanning communicators.
#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

#include "shim/job/communicator.hpp"
#include "wire/base/mutex.hpp"
#include "wire/engine/engine.hpp"

namespace impishim::shim {

/// A message that is either the vendor's or the engine's.
struct KeptMessage {
  Communicator* communicator = nullptr;  ///< counted in its `pending`
  MPI_Message native = MPI_MESSAGE_NULL;
  wire::MatchedMessagePointer remote;
};

class MessagePool {
 public:
  MessagePool() = default;
  MessagePool(const MessagePool&) = delete;
  MessagePool& operator=(const MessagePool&) = delete;
  /// Stores a message; returns an own handle for it.
  [[nodiscard]] MPI_Message keep(Communicator& communicator, MPI_Message native,
                                 wire::MatchedMessagePointer remote);
  /// Removes and returns the message behind an own handle, which becomes invalid.
  [[nodiscard]] KeptMessage take(MPI_Message handle);

 private:
  Mutex mutex_;
  std::vector<KeptMessage> messages_ IMPISHIM_GUARDED_BY(mutex_);
  std::vector<std::uint32_t> free_ IMPISHIM_GUARDED_BY(mutex_);
};

}  // namespace impishim::shim
