// SPDX-License-Identifier: Apache-2.0
#include "wire/engine/receive_ring.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>

#include "wire/data/basic_type.hpp"
#include "wire/data/type_layout.hpp"
#include "wire/engine/engine.hpp"
#include "wire/message/operation.hpp"

namespace impishim::wire {

ReceiveRing::ReceiveRing(Engine& engine, ContextId context, std::size_t receives, std::size_t bytes)
    : engine_(engine) {
  for (std::size_t i = 0; i < receives; ++i) {
    slots_.push_back(std::make_unique<Slot>());
    Slot& slot = *slots_.back();
    slot.room.resize(bytes);
    slot.operation.context = context;
    slot.operation.source = kAnySource;
    slot.operation.tag = kAnyTag;
    slot.operation.buffer = {slot.room.data(), slot.room.size(),
                             &TypeLayout::basic(BasicType::kByte)};
  }
}

void ReceiveRing::post() {
  for (const auto& slot : slots_) engine_.start(slot->operation);
}

std::span<const std::byte> ReceiveRing::message() const {
  const Slot& slot = *slots_[next_];
  return std::span(slot.room).first(slot.operation.result.native_bytes);
}

void ReceiveRing::pop() {
  engine_.start(slots_[next_]->operation);
  next_ = (next_ + 1) % slots_.size();
}

void ReceiveRing::cancel() {
  for (const auto& slot : slots_) engine_.cancel(slot->operation);
}

bool ReceiveRing::all_complete() const {
  return std::ranges::all_of(slots_, [](const auto& slot) { return slot->operation.complete(); });
}

}  // namespace impishim::wire
