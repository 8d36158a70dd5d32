// SPDX-License-Identifier: Apache-2.0
#include "wire/window/engine_channel.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/data/type_layout.hpp"
#include "wire/engine/engine.hpp"
#include "wire/message/operation.hpp"
#include "wire/topology/job_map.hpp"
#include "wire/window/window_channel.hpp"
#include "wire/window/window_request.hpp"

namespace impishim::wire {
namespace {

/// Tags have 31 bits. Two requests to one process with equal tags are 2^31 requests apart.
std::int32_t tag_of(std::uint64_t ticket) {
  return static_cast<std::int32_t>(ticket & 0x7fffffffU);
}

ContextId context_of(DataOf kind) {
  return kind == DataOf::kRequest ? kWindowDataContext : kWindowAnswerContext;
}

/// A transfer by one operation of the engine.
template <class Operation>
class EngineTransfer final : public DataTransfer {
 public:
  [[nodiscard]] bool complete() override { return operation.complete(); }
  [[nodiscard]] bool failed() const override { return operation.result.error.has_value(); }
  Operation operation;
};

}  // namespace

EngineChannel::EngineChannel(Engine& engine, WorldRank here, FormatOf format_of)
    : engine_(engine),
      here_(here),
      format_of_(std::move(format_of)),
      requests_(engine, kWindowContext, kReceives,
                WindowRequest::kHeaderBytes + kLayoutBytes + kInlineBytes) {
  requests_.post();
}

void EngineChannel::send(WorldRank to, std::span<const std::byte> message, Departure departure) {
  if (message.size() <= Engine::kLongestShort &&
      engine_.send_short({.destination = to,
                          .context = kWindowContext,
                          .source_rank = here_,
                          .tag = 0,
                          .bytes = message,
                          .may_wait = departure == Departure::kMayWait}))
    return;
  while (!outgoing_.empty() && outgoing_.front().operation.complete()) outgoing_.pop_front();
  Outgoing& outgoing = outgoing_.emplace_back();
  outgoing.message.assign(message.begin(), message.end());
  outgoing.operation.destination = to;
  outgoing.operation.context = kWindowContext;
  outgoing.operation.source_rank = here_;
  outgoing.operation.buffer = {outgoing.message.data(), outgoing.message.size(),
                               &TypeLayout::basic(BasicType::kByte)};
  engine_.start(outgoing.operation);
}

std::unique_ptr<DataTransfer> EngineChannel::send_data(WorldRank to, DataOf kind,
                                                       std::uint64_t ticket,
                                                       const ConstBuffer& data) {
  auto transfer = std::make_unique<EngineTransfer<SendOperation>>();
  transfer->operation.destination = to;
  transfer->operation.context = context_of(kind);
  transfer->operation.source_rank = here_;
  transfer->operation.tag = tag_of(ticket);
  transfer->operation.buffer = data;
  engine_.start(transfer->operation);
  return transfer;
}

std::unique_ptr<DataTransfer> EngineChannel::receive_data(WorldRank from, DataOf kind,
                                                          std::uint64_t ticket,
                                                          const MutableBuffer& room) {
  auto transfer = std::make_unique<EngineTransfer<ReceiveOperation>>();
  transfer->operation.context = context_of(kind);
  transfer->operation.source = from;
  transfer->operation.tag = tag_of(ticket);
  transfer->operation.buffer = room;
  engine_.start(transfer->operation);
  return transfer;
}

Result<std::optional<WindowChannel::Arrived>> EngineChannel::take() {
  if (taken_) requests_.pop();
  const ReceiveOperation& receive = requests_.front();
  // Asked once: another thread may complete it between two questions, and a message that was not
  // noted as taken would be handled twice.
  const bool complete = receive.complete();
  taken_ = complete && !receive.result.error;
  if (!complete) return std::optional<Arrived>();
  if (receive.result.error) return *receive.result.error;
  return std::optional(Arrived{receive.result.source, requests_.message()});
}

}  // namespace impishim::wire
