// SPDX-License-Identifier: Apache-2.0
// Support for senders to this process while its program's thread is inside a vendor call.
#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "wire/base/mutex.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/data/type_layout.hpp"
#include "wire/engine/early_message.hpp"
#include "wire/engine/engine.hpp"
#include "wire/engine/engine_impl.hpp"
#include "wire/engine/match_queue.hpp"
#include "wire/engine/operation.hpp"

namespace impishim::wire {

/// Starts relief. The messages that unexpected ones hold back may be what the program's thread
/// finally waits for.
void Engine::Impl::relieve_locked() {
  if (failed.load(std::memory_order_relaxed)) return;
  // Sequentially consistent, as the store of end_relief(): callers on two threads rely on it.
  relieving.store(true);
  if (queue.uncounted() > 0) take_unexpected_locked();
  accept_early_locked();
}

/// Accepts all messages that wait for the end of a contest, may come before their match, and would
/// be taken by a posted receive.
void Engine::Impl::accept_early_locked() {
  queue.each_wanted([this](Message& message) {
    mutex.assert_held();
    if (message.may_be_early && message.early == nullptr &&
        message.message_bytes <= early_limit - early_bytes) {
      begin_early_locked(message);
    }
  });
}

void Engine::Impl::begin_early_locked(Message& message) {
  auto made = std::make_unique<EarlyMessage>();
  made->memory.reset(new (std::nothrow) std::byte[message.message_bytes]);
  if (made->memory == nullptr) return;
  made->bytes = message.message_bytes;
  early_bytes += made->bytes;
  ReceiveOperation& arrival = made->arrival;
  arrival.owner = made.get();
  arrival.early_ = true;
  arrival.buffer = {made->memory.get(), made->bytes, &TypeLayout::basic(BasicType::kByte)};
  arrival.begin();
  arrival.phase_ = ReceiveOperation::Phase::kReceiving;
  arrival.sender_ = message.source;
  arrival.result.wire_bytes = message.message_bytes;
  // The message is stored in its wire representation, since its receive, and thus its datatype, is
  // not known yet.
  arrival.cursor_ = UnpackCursor(arrival.buffer, Format::kNative);
  auto placed = arrival.cursor_.unpack(message.payload.first(message.payload_bytes));
  if (!placed) return fail_locked(placed.error());
  count_copy(message.payload_bytes);
  arrival.arrived_ = message.payload_bytes;
  buffers.put(std::move(message.payload));
  message.synchronous = false;  // it is answered now
  message.early = made.get();
  early.emplace(made.get(), std::move(made));
  answer_match_locked(arrival, message.source, message.request_id);
}

/// Completes an early message: its last packet has arrived.
void Engine::Impl::early_arrived_locked(EarlyMessage& message) {
  message.arrival.phase_ = ReceiveOperation::Phase::kDone;
  message.arrival.finish();
  if (message.receive != nullptr) return hand_over_locked(message, *message.receive);
  if (message.dropped) forget_early_locked(message);
}

/// Records that a receive has matched the message.
void Engine::Impl::match_early_locked(EarlyMessage& message, ReceiveOperation& operation) {
  if (message.arrival.complete()) return hand_over_locked(message, operation);
  message.receive = &operation;
}

void Engine::Impl::hand_over_locked(EarlyMessage& message, ReceiveOperation& operation) {
  if (message.arrival.result.error) {
    operation.result.error = message.arrival.result.error;
  } else {
    auto unpacked = operation.cursor_.unpack({message.memory.get(), message.bytes});
    count_copy(message.bytes);
    if (!unpacked && !operation.result.error) operation.result.error = unpacked.error();
  }
  operation.arrived_ = message.bytes;
  complete_receive_locked(operation, operation.cursor_.native_bytes());
  forget_early_locked(message);
}

/// Drops a message that no receive can take any more.
void Engine::Impl::drop_early_locked(EarlyMessage& message) {
  if (message.arrival.complete()) return forget_early_locked(message);
  message.dropped = true;
}

void Engine::Impl::forget_early_locked(EarlyMessage& message) {
  early_bytes -= message.bytes;
  early.erase(&message);  // destroys `message`
}

void Engine::relieve() {
  const MutexLock lock(impl_->mutex);
  impl_->relieve_locked();
}

void Engine::end_relief() { impl_->relieving.store(false); }

bool Engine::holds_unasked() {
  const MutexLock lock(impl_->mutex);
  return impl_->queue.uncounted() > 0;
}

void Engine::take_unasked() {
  const MutexLock lock(impl_->mutex);
  if (!impl_->failed.load(std::memory_order_relaxed) && impl_->queue.uncounted() > 0)
    impl_->take_unexpected_locked();
}

bool Engine::relieving() const { return impl_->relieving.load(std::memory_order_relaxed); }

std::optional<UnansweredMessage> Engine::unanswered() {
  const MutexLock lock(impl_->mutex);
  std::optional<UnansweredMessage> first;
  impl_->queue.each_wanted([&](const Message& message) {
    if (message.synchronous && !first)
      first = UnansweredMessage{message.source, message.tag, message.message_bytes,
                                message.may_be_early};
  });
  return first;
}

}  // namespace impishim::wire
