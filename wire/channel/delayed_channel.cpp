// SPDX-License-Identifier: Apache-2.0
#include "wire/channel/delayed_channel.hpp"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"

namespace impishim::wire {
namespace {

constexpr std::size_t kReadSize = 65536;
/// Largest number of bytes inside the simulated network. Beyond it the sender waits.
constexpr std::size_t kMostHeld = 64U << 20U;

Error no_descriptor() {
  return {ErrorKind::kSystem,
          std::string("cannot make a delayed channel: ") + std::strerror(errno)};
}

}  // namespace

Result<std::unique_ptr<Channel>> DelayedChannel::make(std::unique_ptr<Channel> channel,
                                                      Clock::duration delay) {
  Descriptor events(epoll_create1(EPOLL_CLOEXEC));
  Descriptor timer(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
  if (!events.valid() || !timer.valid()) return no_descriptor();
  epoll_event of_channel{channel->epoll_events(), {}};
  epoll_event of_timer{EPOLLIN, {}};
  if (epoll_ctl(events.get(), EPOLL_CTL_ADD, channel->descriptor(), &of_channel) != 0 ||
      epoll_ctl(events.get(), EPOLL_CTL_ADD, timer.get(), &of_timer) != 0) {
    return no_descriptor();
  }
  return std::unique_ptr<Channel>(std::make_unique<DelayedChannel>(
      std::move(channel), delay, std::move(events), std::move(timer)));
}

DelayedChannel::DelayedChannel(std::unique_ptr<Channel> channel, Clock::duration delay,
                               Descriptor events, Descriptor timer)
    : channel_(std::move(channel)),
      delay_(delay),
      events_(std::move(events)),
      timer_(std::move(timer)) {}

void DelayedChannel::take_in() {
  while (!end_ && held_ < kMostHeld) {
    std::vector<std::byte> bytes(kReadSize);
    const iovec piece{bytes.data(), bytes.size()};
    const auto got = channel_->try_receive(std::span(&piece, 1));
    if (!got) {
      end_ = got.error();
      end_due_ = Clock::now() + delay_;
      return;
    }
    if (*got == 0) return;
    bytes.resize(*got);
    held_ += *got;
    arrivals_.push_back({Clock::now() + delay_, std::move(bytes), 0});
  }
}

bool DelayedChannel::something_is_due() const {
  if (!arrivals_.empty()) return arrivals_.front().due <= Clock::now();
  return end_ && end_due_ <= Clock::now();
}

Result<std::size_t> DelayedChannel::try_receive(std::span<const iovec> pieces) {
  take_in();
  if (!something_is_due()) return std::size_t{0};
  if (arrivals_.empty()) return *end_;
  // One moment for all pieces: what becomes due later must not come behind a piece with a gap.
  const auto now = Clock::now();
  std::size_t total = 0;
  for (const iovec& piece : pieces) {
    auto* to = static_cast<std::byte*>(piece.iov_base);
    for (std::size_t room = piece.iov_len;
         room > 0 && !arrivals_.empty() && arrivals_.front().due <= now;) {
      Arrival& first = arrivals_.front();
      const std::size_t size = std::min(room, first.bytes.size() - first.taken);
      std::memcpy(to, first.bytes.data() + first.taken, size);
      to += size;
      room -= size;
      total += size;
      first.taken += size;
      if (first.taken == first.bytes.size()) arrivals_.pop_front();
    }
  }
  held_ -= total;
  return total;
}

std::uint32_t DelayedChannel::epoll_events() const { return EPOLLIN; }

bool DelayedChannel::set_want_output(bool want) {
  if (channel_->set_want_output(want)) {
    epoll_event changed{channel_->epoll_events(), {}};
    // The descriptor is in the set, so the call cannot fail.
    static_cast<void>(epoll_ctl(events_.get(), EPOLL_CTL_MOD, channel_->descriptor(), &changed));
  }
  return false;
}

void DelayedChannel::set_timer() const {
  itimerspec when{};
  if (!arrivals_.empty() || end_) {
    const auto due = arrivals_.empty() ? end_due_ : arrivals_.front().due;
    const auto rest =
        std::max<std::chrono::nanoseconds>(due - Clock::now(), std::chrono::nanoseconds(1));
    when.it_value.tv_sec = rest.count() / 1'000'000'000;
    when.it_value.tv_nsec = rest.count() % 1'000'000'000;
  }
  timerfd_settime(timer_.get(), 0, &when, nullptr);
}

bool DelayedChannel::prepare_to_sleep() {
  take_in();
  if (something_is_due()) return false;
  set_timer();
  return channel_->prepare_to_sleep();
}

void DelayedChannel::end_sleep() {
  channel_->end_sleep();
  std::uint64_t expirations = 0;
  static_cast<void>(read(timer_.get(), &expirations, sizeof(expirations)));
}

}  // namespace impishim::wire
