// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/stream_end.hpp"

#include <poll.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "tests/simulation/content.hpp"
#include "tests/simulation/violation.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"

namespace impishim::wire::test {

StreamEnd::StreamEnd(Random& random, std::unique_ptr<Channel> channel, const StreamPlan& plan)
    : random_(random), channel_(std::move(channel)), plan_(plan), room_(plan.most_at_once) {}

std::span<iovec> StreamEnd::cut(std::span<const std::byte> memory) {
  const std::size_t most = random_.one_in(16) ? 40 : 4;
  pieces_.clear();
  while (!memory.empty() && pieces_.size() < most) {
    std::size_t size = random_.one_in(3) ? memory.size() : random_.scaled(memory.size());
    if (pieces_.size() + 1 == most) size = memory.size();
    // An iovec serves reading and writing alike, so it has no const form.
    auto* const begin =
        const_cast<std::byte*>(memory.data());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
    pieces_.push_back({begin, size});
    memory = memory.subspan(size);
  }
  return pieces_;
}

bool StreamEnd::send() {
  const auto most = std::min<std::uint64_t>(plan_.to_send - sent_, plan_.most_at_once);
  if (most == 0) return false;
  const std::size_t size = 1 + random_.scaled(most - 1);
  auto taken = channel_->try_send(cut(content_at(plan_.first + sent_, size)));
  if (!taken) {
    end(taken.error());
    return false;
  }
  require(*taken <= size, "a channel has taken {} bytes of {}", *taken, size);
  sent_ += *taken;
  return *taken > 0;
}

bool StreamEnd::receive() {
  const std::size_t size = 1 + random_.scaled(room_.size() - 1);
  auto got = channel_->try_receive(cut(std::span(room_).first(size)));
  if (!got) {
    end(got.error());
    return false;
  }
  require(*got <= plan_.to_receive - received_, "{} bytes came, and {} had come of {}", *got,
          received_, plan_.to_receive);
  const auto expected = content_at(plan_.first_received + received_, *got);
  const auto differs = std::ranges::mismatch(std::span(room_).first(*got), expected).in2;
  require(differs == expected.end(), "byte {} of the stream differs",
          received_ + static_cast<std::uint64_t>(differs - expected.begin()));
  received_ += *got;
  return *got > 0;
}

void StreamEnd::end(const Error& error) {
  require(error.kind == ErrorKind::kConnection, "the stream breaks: {}", error.text);
  require(sent_ == plan_.to_send && received_ == plan_.to_receive,
          "the stream ends with {} of {} bytes sent and {} of {} received: {}", sent_,
          plan_.to_send, received_, plan_.to_receive, error.text);
  ended_ = true;
}

void StreamEnd::step() {
  const auto calls = 1 + random_.below(4);
  for (std::uint64_t i = 0; i < calls && !ended_; ++i) {
    static_cast<void>(random_.one_in(2) ? send() : receive());
    if (random_.one_in(16)) static_cast<void>(channel_->peer_silence());
    if (!shut_down_ && sent_ == plan_.to_send && received_ == plan_.to_receive) {
      shut_down_ = true;
      channel_->shutdown_output();
    }
  }
}

bool StreamEnd::fall_asleep() {
  if (plan_.watching == Watching::kPolls || ended_) return false;
  if (plan_.watching == Watching::kSleeps && (receive() || ended_ || send() || ended_))
    return false;
  // The channel is told only if it changes, as the engine does.
  const bool wants_room = sent_ < plan_.to_send;
  if (wants_room != wants_room_) channel_->set_want_output(wants_room);
  wants_room_ = wants_room;
  asleep_ = plan_.watching == Watching::kWatches || channel_->prepare_to_sleep();
  if (!asleep_) channel_->end_sleep();
  return asleep_;
}

bool StreamEnd::wake_up() {
  pollfd state{channel_->descriptor(), POLLIN, 0};
  if (poll(&state, 1, 0) <= 0) return false;
  channel_->end_sleep();
  asleep_ = false;
  return true;
}

void StreamEnd::check_memory() const {
  const std::size_t memory = resumable().memory();
  require(memory <= plan_.most_memory, "a channel that may keep {} bytes keeps {}",
          plan_.most_memory, memory);
}

}  // namespace impishim::wire::test
