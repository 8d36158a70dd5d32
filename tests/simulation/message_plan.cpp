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
#include "wire/base/result.hpp"
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
    : job_(job), random_(random), processes_(static_cast<std::size_t>(job.size())) {
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
  processes_[static_cast<std::size_t>(from)].sends.push_back(send.get());
  const bool any = any_source(send->naming);
  add_receive(to, send->naming, any ? kAnySource : from,
              any_tag(send->naming) ? kAnyTag : sending.tag);
  sends_.push_back(std::move(send));
}

SimulatedReceive& MessagePlan::add_receive(WorldRank at, Naming naming, std::int32_t source,
                                           std::int32_t tag) {
  auto receive = std::make_unique<SimulatedReceive>();
  receive->at = at;
  receive->room.resize(kLongest);
  ReceiveOperation& receiving = receive->operation;
  receiving.context = static_cast<ContextId>(naming);
  receiving.source = source;
  receiving.tag = tag;
  receiving.buffer = {receive->room.data(), receive->room.size(),
                      &TypeLayout::basic(BasicType::kByte)};
  processes_[static_cast<std::size_t>(at)].receives.push_back(receive.get());
  receives_.push_back(std::move(receive));
  return *receives_.back();
}

bool MessagePlan::begin_next(WorldRank rank, Engine& engine) {
  Process& process = processes_[static_cast<std::size_t>(rank)];
  if (begin_planned(process, engine)) return true;
  const SimulatedReceive* const again = missing(process);
  if (again == nullptr) return false;
  SimulatedReceive& receive = add_receive(rank, static_cast<Naming>(again->operation.context),
                                          kAnySource, again->operation.tag);
  ++process.receives_begun;
  engine.start(receive.operation);
  return true;
}

/// Begins a send or a receive that was planned at first. Returns false if there is none.
bool MessagePlan::begin_planned(Process& process, Engine& engine) {
  if (process.knows) {
    const auto rest =
        process.receives.begin() + static_cast<std::ptrdiff_t>(process.receives_begun);
    process.receives.erase(
        std::remove_if(rest, process.receives.end(),
                       [](const auto* each) { return each->operation.source == kAnySource; }),
        process.receives.end());
  }
  const bool may_send = process.sends_begun < process.sends.size();
  const bool may_receive = process.receives_begun < process.receives.size();
  if (may_send && (!may_receive || random_.one_in(2))) {
    engine.start(process.sends[process.sends_begun++]->operation);
  } else if (may_receive) {
    engine.start(process.receives[process.receives_begun++]->operation);
  }
  return may_send || may_receive;
}

/// Returns true if survivors have sent more messages for receives like this one than such receives
/// have got, and none waits.
bool MessagePlan::lacks(const Process& process, const SimulatedReceive& receive) const {
  const ReceiveOperation& wanted = receive.operation;
  std::size_t sent = 0;
  for (const auto& each : sends_) {
    const SendOperation& sending = each->operation;
    if (sending.destination == receive.at && sending.context == wanted.context &&
        (wanted.tag == kAnyTag || wanted.tag == sending.tag) && !is_lost(each->from))
      ++sent;
  }
  std::size_t got = 0;
  for (const SimulatedReceive* const each : process.receives) {
    const ReceiveOperation& receiving = each->operation;
    if (receiving.context != wanted.context || receiving.tag != wanted.tag) continue;
    if (!receiving.complete()) return false;
    if (!receiving.result.error && !is_lost(receiving.result.source)) ++got;
  }
  return got < sent;
}

const SimulatedReceive* MessagePlan::missing(const Process& process) const {
  if (!process.knows) return nullptr;
  for (const auto& each : receives_) {
    if (&processes_[static_cast<std::size_t>(each->at)] == &process &&
        each->operation.source == kAnySource && lacks(process, *each))
      return each.get();
  }
  return nullptr;
}

bool MessagePlan::complete(WorldRank rank) const {
  const Process& process = processes_[static_cast<std::size_t>(rank)];
  const auto is_complete = [](const auto* each) { return each->operation.complete(); };
  return process.sends_begun == process.sends.size() &&
         process.receives_begun == process.receives.size() &&
         std::ranges::all_of(process.sends, is_complete) &&
         std::ranges::all_of(process.receives, is_complete) && missing(process) == nullptr;
}

/// Returns the first message that the receive could match and that no earlier receive has got. Of
/// a lost process, messages may be missing.
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
    if (!matches || each->claimed) continue;
    const bool may_miss = is_lost(source) && (receiving.result.tag != sending.tag ||
                                              receiving.result.native_bytes != each->size);
    if (!may_miss) return each;
    each->claimed = true;
  }
  return nullptr;
}

void MessagePlan::check(SimulatedReceive& receive) {
  const Envelope& result = receive.operation.result;
  const bool may_fail =
      lost_ >= 0 && (receive.operation.source == kAnySource || is_lost(receive.operation.source));
  if (may_fail && result.error && result.error->kind == ErrorKind::kLost) return;
  require(!result.error, "a receive of process {} fails: {}", receive.at,
          result.error ? result.error->text : "");
  SimulatedSend* const message = find_message(receive);
  require(message != nullptr, "process {} has received a message of {} that was not sent",
          receive.at, result.source);
  message->claimed = true;
  check_content(receive, *message);
}

void MessagePlan::check_content(const SimulatedReceive& receive,
                                const SimulatedSend& message) const {
  const Envelope& result = receive.operation.result;
  require(result.tag == message.operation.tag && result.native_bytes == message.size,
          "process {} has received tag {} and {} bytes from {} instead of {} and {}", receive.at,
          result.tag, result.native_bytes, result.source, message.operation.tag, message.size);
  require(std::ranges::equal(std::span(receive.room).first(message.size),
                             content_at(message.place, message.size)),
          "process {} has received {} bytes from {} that differ", receive.at, message.size,
          result.source);
}

void MessagePlan::check() {
  for (std::size_t rank = 0; rank < processes_.size(); ++rank) {
    if (is_lost(static_cast<WorldRank>(rank))) continue;
    for (const SimulatedSend* const each : processes_[rank].sends) {
      require(!each->operation.result.error || is_lost(each->operation.destination),
              "a send of process {} to {} fails", each->from, each->operation.destination);
    }
    for (SimulatedReceive* const each : processes_[rank].receives) check(*each);
  }
  for (const auto& each : sends_) {
    require(each->claimed || is_lost(each->from) || is_lost(each->operation.destination),
            "a message of {} bytes from {} to {} was not received", each->size, each->from,
            each->operation.destination);
  }
}

std::uint64_t MessagePlan::bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& each : sends_) bytes += each->size;
  return bytes;
}

}  // namespace impishim::wire::test
