// SPDX-License-Identifier: Apache-2.0
#include "shim/job/message_pool.hpp"
#include <atomic>
#include <cstdint>
#include <utility>

#include "shim/handle/own_handle.hpp"
#include "shim/job/communicator.hpp"
#include "wire/base/mutex.hpp"
#include "wire/engine/engine.hpp"

namespace impishim::shim {

MPI_Message MessagePool::keep(Communicator& communicator, MPI_Message native,
                              wire::MatchedMessagePointer remote) {
  communicator.pending.fetch_add(1, std::memory_order_relaxed);
  const MutexLock lock(mutex_);
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(messages_.size()));
    messages_.emplace_back();
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  messages_[index].communicator = &communicator;
  messages_[index].native = native;
  messages_[index].remote = std::move(remote);
  return own_messages().make(index);
}

KeptMessage MessagePool::take(MPI_Message handle) {
  const MutexLock lock(mutex_);
  const std::uint32_t index = own_messages().index(handle);
  free_.push_back(index);
  return std::move(messages_[index]);
}

}  // namespace impishim::shim
