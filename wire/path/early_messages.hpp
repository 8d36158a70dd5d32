// SPDX-License-Identifier: Apache-2.0
/// The early messages of a process, and the limit on their memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <unordered_map>
#include <utility>

#include "wire/message/early_message.hpp"

namespace impishim::wire {

/// Owns the early messages. The engine's lock protects it.
class EarlyMessages {
 public:
  /// All messages together may take `limit` bytes.
  explicit EarlyMessages(std::uint64_t limit) : limit_(limit) {}

  [[nodiscard]] bool has_room(std::uint64_t bytes) const { return bytes <= limit_ - total_; }
  /// Makes a message for which there is room. Returns null if memory is exhausted.
  [[nodiscard]] EarlyMessage* make(std::uint64_t bytes) {
    auto made = std::make_unique<EarlyMessage>();
    // std::make_unique throws if memory is exhausted.
    // NOLINTNEXTLINE(cppcoreguidelines-owning-memory)
    made->memory.reset(new (std::nothrow) std::byte[bytes]);
    if (made->memory == nullptr) return nullptr;
    made->bytes = bytes;
    total_ += bytes;
    EarlyMessage* message = made.get();
    messages_.emplace(message, std::move(made));
    return message;
  }
  /// Destroys a message.
  void forget(EarlyMessage& message) {
    total_ -= message.bytes;
    messages_.erase(&message);
  }
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const auto& [key, message] : messages_) visit(*message);
  }

 private:
  std::unordered_map<const EarlyMessage*, std::unique_ptr<EarlyMessage>> messages_;
  std::uint64_t limit_;
  std::uint64_t total_ = 0;
};

}  // namespace impishim::wire
