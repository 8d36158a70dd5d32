#include "shim/leader_group.hpp"

#include <algorithm>

namespace impishim::shim {
namespace {

constexpr auto kComplete = [](const wire::Operation& operation) { return operation.complete(); };

template <class Operations>
void note_first_error(const Operations& operations, Result<void>& outcome) {
  for (const auto& operation : operations) {
    if (outcome.ok() && operation.result.error) outcome = *operation.result.error;
  }
}

}  // namespace

void EngineLeaders::post_send(std::int32_t to, std::int32_t tag, const wire::ConstBuffer& data) {
  wire::SendOperation& send = sends_.emplace_back();
  send.destination = communicator_.members[static_cast<std::size_t>(to)];
  send.context = communicator_.context + 1;
  send.source_rank = communicator_.rank;
  send.tag = tag;
  send.buffer = data;
  engine_.start(send);
}

void EngineLeaders::post_receive(std::int32_t from, std::int32_t tag, const wire::MutableBuffer& room) {
  wire::ReceiveOperation& receive = receives_.emplace_back();
  receive.context = communicator_.context + 1;
  receive.source = from;
  receive.tag = tag;
  receive.buffer = room;
  engine_.start(receive);
}

bool EngineLeaders::done() { return std::ranges::all_of(receives_, kComplete) && std::ranges::all_of(sends_, kComplete); }

Result<void> EngineLeaders::outcome() {
  Result<void> outcome;
  note_first_error(sends_, outcome);
  note_first_error(receives_, outcome);
  sends_.clear();
  receives_.clear();
  return outcome;
}

}  // namespace impishim::shim
