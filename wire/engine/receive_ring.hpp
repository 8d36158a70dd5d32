// SPDX-License-Identifier: Apache-2.0
/// Receives that take turns: for messages of any process in one context, which are read in their
/// order, and of which a bounded number has arrived and has not been read.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "wire/engine/engine.hpp"
#include "wire/message/operation.hpp"

namespace impishim::wire {

/// Not thread-safe; complete() of front() may be asked by any thread.
class ReceiveRing {
 public:
  /// Describes `receives` receives of messages of up to `bytes` bytes each.
  ReceiveRing(Engine& engine, ContextId context, std::size_t receives, std::size_t bytes);
  ReceiveRing(const ReceiveRing&) = delete;
  ReceiveRing& operator=(const ReceiveRing&) = delete;
  ~ReceiveRing() { cancel(); }

  /// Posts all receives. To be called once, before the other functions.
  void post();
  /// Returns the receive of the next message.
  [[nodiscard]] const ReceiveOperation& front() const { return slots_[next_]->operation; }
  /// Returns the next message, once front() is complete. Valid until pop().
  [[nodiscard]] std::span<const std::byte> message() const;
  /// Posts the receive of the message that was read again, and moves on.
  void pop();
  /// Cancels the receives that no message has matched.
  void cancel();
  /// Returns true if no receive uses its memory.
  [[nodiscard]] bool all_complete() const;

 private:
  struct Slot {
    std::vector<std::byte> room;
    ReceiveOperation operation;
  };
  Engine& engine_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::size_t next_ = 0;  ///< slot of the next message: they are posted, and so filled, in order
};

}  // namespace impishim::wire
