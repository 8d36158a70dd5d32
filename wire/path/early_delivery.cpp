// SPDX-License-Identifier: Apache-2.0
// What a process does for senders to it: while its program's thread is inside a vendor call, while
// a wait starves, and when the engine fails.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/data/conversion.hpp"
#include "wire/data/type_layout.hpp"
#include "wire/message/early_message.hpp"
#include "wire/message/match_queue.hpp"
#include "wire/message/operation.hpp"
#include "wire/path/receive_path.hpp"
#include "wire/path/unanswered_message.hpp"
#include "wire/peer/link.hpp"
#include "wire/peer/peer_table.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire {
namespace {

/// Above this many unexpected bytes, a starving wait acknowledges them only once per
/// kStarvedPauseNs. Memory then grows slowly where it must grow, and not at all where the wait ends
/// by itself. The same holds while a message contests a receive: the end of the contest may be all
/// that the wait needs, and a wildcard receive would otherwise let in a window for each message.
constexpr std::uint64_t kUnexpectedComfort = 64ULL << 20U;
constexpr std::uint64_t kStarvedPauseNs = 10'000'000;

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

}  // namespace

void ReceivePath::take_unexpected() {
  if (queue_.unexpected_bytes() > kUnexpectedComfort || queue_.contested() > 0) {
    const std::uint64_t now = now_ns();
    if (now - starved_at_ns_ < kStarvedPauseNs) return;
    starved_at_ns_ = now;
  }
  std::vector<std::pair<WorldRank, std::uint32_t>> packets;
  queue_.count_all(
      [&](const Message& message) { packets.emplace_back(message.source, message.payload_bytes); });
  for (const auto& [source, payload] : packets) count_received(source, payload);
}

void ReceivePath::relieve() {
  if (parts_.failure.happened()) return;
  // Sequentially consistent, as the store of end_relief(): callers on two threads rely on it.
  parts_.flags.relieving.store(true);
  if (queue_.uncounted() > 0) take_unexpected();
  accept_early();
}

/// Accepts all messages that wait for the end of a contest, may come before their match, and would
/// be taken by a posted receive.
void ReceivePath::accept_early() {
  queue_.each_wanted([this](Message& message) {
    if (message.may_be_early && message.early == nullptr && early_.has_room(message.message_bytes))
      begin_early(message);
  });
}

void ReceivePath::begin_early(Message& message) {
  EarlyMessage* const made = early_.make(message.message_bytes);
  if (made == nullptr) return;
  ReceiveOperation& arrival = made->arrival;
  arrival.owner = made;
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
  if (!placed) return parts_.failures.fail(placed.error());
  parts_.state.counters.count_copy(message.payload_bytes);
  arrival.arrived_ = message.payload_bytes;
  parts_.state.buffers.put(std::move(message.payload));
  message.synchronous = false;  // it is answered now
  message.early = made;
  answer_match(arrival, message.source, message.request_id);
}

/// Completes an early message: its last packet has arrived.
void ReceivePath::early_arrived(EarlyMessage& message) {
  message.arrival.phase_ = ReceiveOperation::Phase::kDone;
  message.arrival.finish();
  if (message.receive != nullptr) return hand_over(message, *message.receive);
  if (message.dropped) early_.forget(message);
}

/// Records that a receive has matched the message.
void ReceivePath::match_early(EarlyMessage& message, ReceiveOperation& operation) {
  if (message.arrival.complete()) return hand_over(message, operation);
  message.receive = &operation;
}

void ReceivePath::hand_over(EarlyMessage& message, ReceiveOperation& operation) {
  if (message.arrival.result.error) {
    operation.result.error = message.arrival.result.error;
  } else {
    auto unpacked = operation.cursor_.unpack({message.memory.get(), message.bytes});
    parts_.state.counters.count_copy(message.bytes);
    if (!unpacked && !operation.result.error) operation.result.error = unpacked.error();
  }
  operation.arrived_ = message.bytes;
  complete(operation, operation.cursor_.native_bytes());
  early_.forget(message);
}

/// Drops a message that no receive can take any more.
void ReceivePath::drop_early(EarlyMessage& message) {
  if (message.arrival.complete()) return early_.forget(message);
  message.dropped = true;
}

std::optional<UnansweredMessage> ReceivePath::unanswered() {
  std::optional<UnansweredMessage> first;
  queue_.each_wanted([&](const Message& message) {
    if (message.synchronous && !first)
      first = UnansweredMessage{message.source, message.tag, message.message_bytes,
                                message.may_be_early};
  });
  return first;
}

void ReceivePath::fail(const Error& error) {
  std::set<ReceiveOperation*> receiving;
  for (const auto& link : parts_.peers.links()) {
    if (link->arrival.receive != nullptr) receiving.insert(link->arrival.receive);
    link->arrival.receive = nullptr;
    link->input.drop_payload();
  }
  for (const auto& [id, operation] : receives_) receiving.insert(operation);
  receives_.clear();
  early_.for_each([&](const EarlyMessage& message) {
    if (message.receive != nullptr) receiving.insert(message.receive);
  });
  for (ReceiveOperation* operation : queue_.release_all()) receiving.insert(operation);
  parts_.flags.contested.store(0, std::memory_order_release);
  for (ReceiveOperation* operation : receiving) {
    if (!operation->complete()) complete_with(*operation, error);
  }
}

}  // namespace impishim::wire
