// SPDX-License-Identifier: Apache-2.0
#include "shim/coll/engine_transport.hpp"

#include <cstdint>
#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/task.hpp"
#include "wire/base/assert.hpp"
#include "wire/base/result.hpp"
#include "wire/data/type_layout.hpp"
#include "wire/message/operation.hpp"

namespace impishim::shim {

using collectives::ConstData;
using collectives::Data;
using collectives::Pending;

Pending& EngineTransport::post_send(std::int32_t to, std::int32_t tag,
                                    const wire::ConstBuffer& data) {
  if (const int local = local_rank(to); local >= 0) return local_.post_send(local, tag, data);
  Sent& sent = sent_.add(engine_);
  sent.operation.destination = communicator_.world_rank(to);
  sent.operation.context = context_for(tag);
  sent.operation.source_rank = communicator_.rank;
  sent.operation.tag = tag;
  sent.operation.buffer = data;
  engine_.start(sent.operation);
  return sent;
}

Pending& EngineTransport::post_receive(std::int32_t from, std::int32_t tag,
                                       const wire::MutableBuffer& room) {
  if (const int local = local_rank(from); local >= 0) return local_.post_receive(local, tag, room);
  return receive(from, tag, room);
}

Pending& EngineTransport::post_receive(std::int32_t from, std::int32_t tag,
                                       const wire::MutableBuffer& room,
                                       collectives::Arrival& arrival) {
  IMPISHIM_ASSERT(local_rank(from) < 0);
  Received& received = receive(from, tag, room);
  received.arrival = &arrival;
  return received;
}

EngineTransport::Received& EngineTransport::receive(std::int32_t from, std::int32_t tag,
                                                    const wire::MutableBuffer& room) {
  static_assert(collectives::kAnyTag == wire::kAnyTag);
  Received& received = received_.add(engine_);
  received.operation.context = context_for(tag);
  received.operation.source = from;
  received.operation.tag = tag;
  received.operation.buffer = room;
  engine_.start(received.operation);
  return received;
}

Pending& EngineTransport::post_send(std::int32_t to, std::int32_t tag, const ConstData& data) {
  if (const int local = local_rank(to); local >= 0) return local_.post_send(local, tag, data);
  return post_send(to, tag, data.buffer());
}

Pending& EngineTransport::post_receive(std::int32_t from, std::int32_t tag, const Data& room) {
  if (const int local = local_rank(from); local >= 0) return local_.post_receive(local, tag, room);
  return post_receive(from, tag, room.buffer());
}

void EngineTransport::give_up() {
  const auto cancel = [this](auto& message) {
    if (!message.operation.complete()) engine_.cancel(message.operation);
  };
  sent_.for_each(cancel);
  received_.for_each(cancel);
  local_.give_up();
}

bool EngineTransport::is_quiet() {
  return sent_.all_done() && received_.all_done() && local_.is_quiet();
}

bool EngineTransport::Everything::done() {
  return leaders_.received_.all_done() && leaders_.sent_.all_done() &&
         leaders_.local_.all_posted().done();
}

Result<void> EngineTransport::Everything::outcome() {
  Result<void> first;
  leaders_.sent_.end_all(first);
  leaders_.received_.end_all(first);
  const Result<void> local = leaders_.local_.all_posted().outcome();
  return first.ok() ? local : first;
}

}  // namespace impishim::shim
