// SPDX-License-Identifier: Apache-2.0
#include "wire/channel/poller.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <span>
#include "wire/base/result.hpp"

namespace impishim::wire {

Poller::Poller()
    : epoll_(epoll_create1(EPOLL_CLOEXEC)), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kWakeToken;
  if (epoll_.valid() && wake_.valid()) epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event);
}

Result<void> Poller::control(int operation, int descriptor, std::uint32_t events,
                             std::uint64_t token) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = token;
  if (epoll_ctl(epoll_.get(), operation, descriptor, &event) == 0) return {};
  return Error{ErrorKind::kSystem, fmt::format("epoll_ctl failed: {}", std::strerror(errno))};
}

Result<void> Poller::add(int descriptor, std::uint32_t events, std::uint64_t token) {
  return control(EPOLL_CTL_ADD, descriptor, events, token);
}

Result<void> Poller::modify(int descriptor, std::uint32_t events, std::uint64_t token) {
  return control(EPOLL_CTL_MOD, descriptor, events, token);
}

Result<void> Poller::remove(int descriptor) { return control(EPOLL_CTL_DEL, descriptor, 0, 0); }

namespace {

/// Waits on `epoll`. epoll_wait() counts in milliseconds, so ppoll() on the epoll descriptor waits
/// for the fraction of a millisecond.
int wait_on(int epoll, std::chrono::microseconds timeout, std::span<epoll_event> events) {
  const auto whole = std::chrono::duration_cast<std::chrono::milliseconds>(timeout);
  if (const auto rest = timeout - whole; rest.count() > 0) {
    pollfd ready{epoll, POLLIN, 0};
    const timespec time{0, std::chrono::nanoseconds(rest).count()};
    if (ppoll(&ready, 1, &time, nullptr) < 0) return -1;
  }
  return epoll_wait(epoll, events.data(), static_cast<int>(events.size()),
                    timeout.count() < 0 ? -1 : static_cast<int>(whole.count()));
}

/// Returns the number of events of epoll_wait() except those of wake(), which set `woken`.
Result<std::size_t> without_wake(int count, std::span<epoll_event> events, bool& woken) {
  woken = false;
  if (count < 0) {
    if (errno == EINTR) return std::size_t{0};
    return Error{ErrorKind::kSystem, fmt::format("epoll_wait failed: {}", std::strerror(errno))};
  }
  auto* const end =
      std::remove_if(events.data(), events.data() + count,
                     [](const epoll_event& event) { return event.data.u64 == Poller::kWakeToken; });
  woken = end != events.data() + count;
  return static_cast<std::size_t>(end - events.data());
}

}  // namespace

Result<std::size_t> Poller::wait(std::chrono::microseconds timeout, std::span<epoll_event> events) {
  bool woken = false;
  auto found = without_wake(wait_on(epoll_.get(), timeout, events), events, woken);
  if (woken) {
    std::uint64_t drained = 0;
    // Another waiter may have drained it already.
    [[maybe_unused]] const auto size = ::read(wake_.get(), &drained, sizeof(drained));
  }
  return found;
}

Result<std::size_t> Poller::ready(std::span<epoll_event> events) {
  bool woken = false;
  return without_wake(epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0),
                      events, woken);
}

void Poller::wake() {
  const std::uint64_t one = 1;
  // The write can only fail if the counter is full, which also wakes.
  [[maybe_unused]] const auto size = ::write(wake_.get(), &one, sizeof(one));
}

}  // namespace impishim::wire
