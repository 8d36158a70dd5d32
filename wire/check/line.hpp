// SPDX-License-Identifier: Apache-2.0
/// A channel to one other system, used by one thread that waits.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"

namespace impishim::check {

/// Moves bytes and frames over a channel, and waits for them. A frame is length:Uint4 and so many
/// bytes. Nothing is read before it is asked for, so the channel can be passed on.
class Line {
 public:
  static constexpr std::chrono::seconds kPatience{60};

  explicit Line(std::unique_ptr<wire::Channel> channel) : channel_(std::move(channel)) {}

  /// Each of these fails with kTimeout if the other end does nothing for `patience`, and as the
  /// channel does.
  [[nodiscard]] Result<void> send(std::span<const std::byte> bytes);
  [[nodiscard]] Result<void> receive(std::span<std::byte> bytes);
  [[nodiscard]] Result<void> send_frame(std::span<const std::byte> bytes);
  /// Fails with kProtocol if the frame is longer than `limit`.
  [[nodiscard]] Result<std::vector<std::byte>> receive_frame(std::size_t limit);
  void set_patience(std::chrono::milliseconds patience) { patience_ = patience; }

  /// Gives the channel away. Both ends must have read everything.
  [[nodiscard]] std::unique_ptr<wire::Channel> take() { return std::move(channel_); }

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] Result<void> wait(bool for_room, Clock::time_point until);

  std::unique_ptr<wire::Channel> channel_;
  std::chrono::milliseconds patience_ = kPatience;
};

}  // namespace impishim::check
