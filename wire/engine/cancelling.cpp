// SPDX-License-Identifier: Apache-2.0
// Cancelled sends (IMPI 3.7.4), both sides.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "wire/base/assert.hpp"
#include "wire/base/result.hpp"
#include "wire/engine/engine.hpp"
#include "wire/engine/engine_impl.hpp"
#include "wire/engine/operation.hpp"
#include "wire/packet/packet.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {

void Engine::Impl::cancel_send_locked(SendOperation& operation) {
  using Phase = SendOperation::Phase;
  if (failed.load(std::memory_order_relaxed) || operation.cancelling_) return;
  if (operation.phase_ == Phase::kHeldByFlowControl) {
    forget_held_locked(operation);
    operation.result.cancelled = true;
    return complete_send_locked(operation);
  }
  const bool may_be_unmatched =
      operation.phase_ == Phase::kQueued || operation.phase_ == Phase::kAwaitingSyncAck ||
      (operation.phase_ == Phase::kDone && operation.mode == SendMode::kStandard &&
       operation.cursor_.total() <= datalen && !operation.result.error &&
       !operation.result.cancelled);
  if (!may_be_unmatched) return;
  if (operation.phase_ == Phase::kDone) {
    // The buffer was free to reuse, but the message may still be unmatched at the receiver.
    operation.begin();
    ++pending_sends;
    operation.phase_ = Phase::kQueued;
  }
  operation.cancelling_ = true;
  sends.emplace(operation.request_id_, &operation);
  Peer& to = peer(operation.destination);
  if (to.marks.counts_control() && (!to.held.empty() || !to.send_credit.may_send(to.marks))) {
    operation.question_held_ = true;
    to.held.push_back(&operation);
    ++counters.flow_control_stalls;
    return;
  }
  ask_to_cancel_locked(operation);
}

/// Sends CANCEL, which travels behind the message's first packet.
void Engine::Impl::ask_to_cancel_locked(SendOperation& operation) {
  operation.question_held_ = false;
  questions.emplace(operation.request_id_, operation.destination);
  MessageFields question;
  question.type = PacketType::kCancel;
  question.srqid = operation.request_id_;
  send_control_locked(operation.destination, question);
}

/// Removes a message, or its CANCEL, from the queue of messages that wait for credit.
void Engine::Impl::forget_held_locked(SendOperation& operation) {
  auto& held = peer(operation.destination).held;
  const auto found = std::find(held.begin(), held.end(), &operation);
  IMPISHIM_ASSERT(found != held.end());
  held.erase(found);
  operation.question_held_ = false;
}

void Engine::Impl::answer_cancel_locked(const PacketHeader& header, WorldRank source) {
  auto message = queue.take_cancelled(source, header.srqid);
  MessageFields answer;
  answer.type = message.empty() ? PacketType::kCancelNo : PacketType::kCancelYes;
  answer.srqid = header.srqid;
  if (!message.empty()) {
    if (!message.front().counted) count_received_locked(source, message.front().payload_bytes);
    buffers.put(std::move(message.front().payload));
    queue.recycle(std::move(message));
  }
  send_control_locked(source, answer);
}

/// Handles an answer to CANCEL. Accepts it only from the process that was asked, and only once. The
/// CANCEL travels behind the message, so the message has left when the answer arrives.
Result<void> Engine::Impl::cancel_answered_locked(const PacketHeader& header, WorldRank source) {
  const bool cancelled = header.type == PacketType::kCancelYes;
  const auto complaint = [&](const char* what) {
    return Error{ErrorKind::kProtocol,
                 fmt::format("a {} about request {}, {}", cancelled ? "CANCELYES" : "CANCELNO",
                             header.srqid, what)};
  };
  const auto asked = questions.find(header.srqid);
  if (asked == questions.end() || asked->second != source)
    return complaint("of which it has not been asked");
  const auto found = sends.find(header.srqid);
  if (found != sends.end() && found->second->packets_queued_ > 0)
    return complaint("whose message has not left");
  questions.erase(asked);
  if (found == sends.end()) {
    // The message matched before the CANCEL arrived.
    if (cancelled) return complaint("whose message has matched");
    return {};
  }
  SendOperation& operation = *found->second;
  operation.cancelling_ = false;
  // A long or synchronous message that has matched continues with its own SYNCACK.
  if (!cancelled && operation.phase_ == SendOperation::Phase::kAwaitingSyncAck) return {};
  sends.erase(found);
  operation.result.cancelled = cancelled;
  complete_send_locked(operation);
  return {};
}

}  // namespace impishim::wire
