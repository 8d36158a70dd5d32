// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/message_plan.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tests/simulation/content.hpp"
#include "tests/simulation/violation.hpp"
#include "wire/data/type_layout.hpp"
#include "wire/engine/engine.hpp"
#include "wire/message/operation.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::wire::test {
namespace {

constexpr std::uint64_t kMostMessages = 200;
constexpr std::uint64_t kTags = 3;

bool any_source(Naming naming) {
  return naming == Naming::kAnySource || naming == Naming::kAnything;
}
bool any_tag(Naming naming) { return naming == Naming::kAnyTag || naming == Naming::kAnything; }

}  // namespace

MessagePlan::MessagePlan(const JobMap& job, Random& random)
    : random_(random), processes_(static_cast<std::size_t>(job.size())) {
  const auto count = 1 + random.scaled(kMostMessages - 1);
  const auto size = static_cast<std::uint64_t>(job.size());
  while (sends_.size() < count) {
    const auto from = static_cast<WorldRank>(random.below(size));
    const auto to = static_cast<WorldRank>(random.below(size));
    if (job.proc(from).client != job.proc(to).client) add(from, to);
  }
  // Receives of one context may be posted in any order.
  for (Process& each : processes_) {
    for (std::size_t i = each.receives.size(); i > 1; --i)
      std::swap(each.receives[i - 1], each.receives[random.below(i)]);
  }
}

void MessagePlan::add(WorldRank from, WorldRank to) {
  auto send = std::make_unique<SimulatedSend>();
  send->from = from;
  send->naming = static_cast<Naming>(random_.below(4));
  send->place = random_.below(kMostContent);
  send->size = random_.one_in(3) ? random_.scaled(kLongest) : random_.scaled(2000);
  SendOperation& sending = send->operation;
  sending.destination = to;
  sending.context = static_cast<ContextId>(send->naming);
  sending.source_rank = from;
  sending.tag = static_cast<std::int32_t>(random_.below(kTags));
  sending.mode = random_.one_in(3) ? SendMode::kSynchronous : SendMode::kStandard;
  sending.buffer = {content_at(send->place, send->size).data(), send->size,
                    &TypeLayout::basic(BasicType::kByte)};
  auto receive = std::make_unique<SimulatedReceive>();
  receive->at = to;
  receive->room.resize(kLongest);
  ReceiveOperation& receiving = receive->operation;
  receiving.context = sending.context;
  receiving.source = any_source(send->naming) ? kAnySource : from;
  receiving.tag = any_tag(send->naming) ? kAnyTag : sending.tag;
  receiving.buffer = {receive->room.data(), receive->room.size(),
                      &TypeLayout::basic(BasicType::kByte)};
  processes_[static_cast<std::size_t>(from)].sends.push_back(send.get());
  processes_[static_cast<std::size_t>(to)].receives.push_back(receive.get());
  sends_.push_back(std::move(send));
  receives_.push_back(std::move(receive));
}

bool MessagePlan::begin_next(WorldRank rank, Engine& engine) {
  Process& process = processes_[static_cast<std::size_t>(rank)];
  const bool may_send = process.sends_begun < process.sends.size();
  const bool may_receive = process.receives_begun < process.receives.size();
  if (may_send && (!may_receive || random_.one_in(2))) {
    engine.start(process.sends[process.sends_begun++]->operation);
  } else if (may_receive) {
    engine.start(process.receives[process.receives_begun++]->operation);
  }
  return may_send || may_receive;
}

bool MessagePlan::complete(WorldRank rank) const {
  const Process& process = processes_[static_cast<std::size_t>(rank)];
  const auto is_complete = [](const auto* each) { return each->operation.complete(); };
  return process.sends_begun == process.sends.size() &&
         process.receives_begun == process.receives.size() &&
         std::ranges::all_of(process.sends, is_complete) &&
         std::ranges::all_of(process.receives, is_complete);
}

/// Returns the first message that the receive could match and that no earlier receive has got.
SimulatedSend* MessagePlan::find_message(const SimulatedReceive& receive) {
  const ReceiveOperation& receiving = receive.operation;
  const std::int32_t source = receiving.result.source;
  if (source < 0 || static_cast<std::size_t>(source) >= processes_.size()) return nullptr;
  for (SimulatedSend* const each : processes_[static_cast<std::size_t>(source)].sends) {
    const SendOperation& sending = each->operation;
    const bool matches = sending.destination == receive.at &&
                         sending.context == receiving.context &&
                         (receiving.tag == kAnyTag || receiving.tag == sending.tag) &&
                         (receiving.source == kAnySource || receiving.source == source);
    if (matches && !each->claimed) return each;
  }
  return nullptr;
}

void MessagePlan::check(SimulatedReceive& receive) {
  const Envelope& result = receive.operation.result;
  require(!result.error, "a receive of process {} fails: {}", receive.at,
          result.error ? result.error->text : "");
  SimulatedSend* const message = find_message(receive);
  require(message != nullptr, "process {} has received a message of {} that was not sent",
          receive.at, result.source);
  message->claimed = true;
  require(result.tag == message->operation.tag && result.native_bytes == message->size,
          "process {} has received tag {} and {} bytes from {} instead of {} and {}", receive.at,
          result.tag, result.native_bytes, result.source, message->operation.tag, message->size);
  require(std::ranges::equal(std::span(receive.room).first(message->size),
                             content_at(message->place, message->size)),
          "process {} has received {} bytes from {} that differ", receive.at, message->size,
          result.source);
}

void MessagePlan::check() {
  for (Process& process : processes_) {
    for (const SimulatedSend* const each : process.sends)
      require(!each->operation.result.error, "a send of process {} fails", each->from);
    for (SimulatedReceive* const each : process.receives) check(*each);
  }
  for (const auto& each : sends_)
    require(each->claimed, "a message of {} bytes from {} to {} was not received", each->size,
            each->from, each->operation.destination);
}

std::uint64_t MessagePlan::bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& each : sends_) bytes += each->size;
  return bytes;
}

}  // namespace impishim::wire::test
