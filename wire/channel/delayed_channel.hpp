// SPDX-License-Identifier: Apache-2.0
/// A channel whose input is delayed. It simulates a distant network on one machine, for tests and
/// benchmarks.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/channel/channel.hpp"

namespace impishim::wire {

/// Delivers all input of another channel, including its end, in order and `delay` after it arrived.
/// Output is not delayed; with one such channel at each end, both directions are. A timer wakes
/// sleeping owners when input is due.
class DelayedChannel final : public Channel {
 public:
  using Clock = std::chrono::steady_clock;

  /// Wraps `channel`. Fails with kSystem if no descriptors are left.
  [[nodiscard]] static Result<std::unique_ptr<Channel>> make(std::unique_ptr<Channel> channel,
                                                             Clock::duration delay);

  /// For make() only: `events` watches the channel and the timer.
  DelayedChannel(std::unique_ptr<Channel> channel, Clock::duration delay, Descriptor events,
                 Descriptor timer);

  [[nodiscard]] Result<std::size_t> try_send(std::span<const iovec> pieces) override {
    return channel_->try_send(pieces);
  }
  [[nodiscard]] Result<std::size_t> try_receive(std::span<const iovec> pieces) override;
  [[nodiscard]] int descriptor() const override { return events_.get(); }
  [[nodiscard]] std::uint32_t epoll_events() const override;
  bool set_want_output(bool want) override;
  [[nodiscard]] bool prepare_to_sleep() override;
  void end_sleep() override;
  void shutdown_output() override { channel_->shutdown_output(); }
  [[nodiscard]] std::optional<std::chrono::seconds> peer_silence() override {
    return channel_->peer_silence();
  }
  [[nodiscard]] std::uint64_t delivered() override { return channel_->delivered(); }
  void close_in_forked_child() override {
    channel_->close_in_forked_child();
    events_.reset();
    timer_.reset();
  }
  [[nodiscard]] std::string peer_name() const override { return channel_->peer_name(); }

 private:
  struct Arrival {
    Clock::time_point due;
    std::vector<std::byte> bytes;
    std::size_t taken = 0;
  };
  void take_in();
  void set_timer() const;
  [[nodiscard]] bool something_is_due() const;

  std::unique_ptr<Channel> channel_;
  Clock::duration delay_;
  Descriptor events_;  ///< an epoll descriptor for the other channel's descriptor and the timer
  Descriptor timer_;
  std::deque<Arrival> arrivals_;
  std::size_t held_ = 0;  ///< number of bytes in arrivals_
  std::optional<Error> end_;
  Clock::time_point end_due_;
};

}  // namespace impishim::wire
