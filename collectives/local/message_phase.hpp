// SPDX-License-Identifier: Apache-2.0
/// A phase of a local group that consists of messages between its members.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/task.hpp"

namespace impishim::collectives {

/// One member's messages of a phase. The member posts them all at the start of the phase, receives
/// before sends. Messages between two members arrive in the order in which they were posted, so
/// phases need no tags to tell them apart. Ranks are those of the group.
class MessagePhase : public Pending {
 public:
  static constexpr std::int32_t kPhaseTag = 1;
  static constexpr std::int32_t kMoreTag = 2;  ///< marks a piece that is not the last

  virtual void send(const ConstData& data, std::int32_t to, std::int32_t tag) = 0;
  virtual void send(std::span<const std::byte> bytes, std::int32_t to, std::int32_t tag) = 0;
  void send(const ConstData& data, std::int32_t to) { send(data, to, kPhaseTag); }
  void send(std::span<const std::byte> bytes, std::int32_t to) { send(bytes, to, kPhaseTag); }
  /// Receives the next message of a member. `tag` may be kAnyTag.
  virtual void receive(const Data& room, std::int32_t from, std::int32_t tag) = 0;
  virtual void receive(std::span<std::byte> room, std::int32_t from, std::int32_t tag) = 0;
  void receive(const Data& room, std::int32_t from) { receive(room, from, kPhaseTag); }
  void receive(std::span<std::byte> room, std::int32_t from) { receive(room, from, kPhaseTag); }

  /// Describes the only message that the receiver of a broadcast expects: a message of less than
  /// `bytes` bytes is an error (kTooLittle). `told` is set to what has arrived, unless it is null.
  virtual void expect(std::uint64_t bytes, Piece* told) = 0;
  /// Makes room for operands that the phase keeps until its end.
  [[nodiscard]] virtual const Data& make_room(const ElementType& type, std::uint64_t count) = 0;
  /// Sets the work that remains when all messages have arrived.
  virtual void at_end(std::function<void()> work) = 0;

 protected:
  ~MessagePhase() = default;
};

/// Starts phases of messages among the members of a local group.
class MessagePhases {
 public:
  MessagePhases() = default;
  MessagePhases(const MessagePhases&) = delete;
  MessagePhases& operator=(const MessagePhases&) = delete;

  [[nodiscard]] virtual MessagePhase& begin_messages() = 0;

 protected:
  ~MessagePhases() = default;
};

}  // namespace impishim::collectives
