// SPDX-License-Identifier: Apache-2.0
/// Readiness of descriptors with epoll, and a way to end a wait from another thread.
#pragma once

#include <sys/epoll.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"

namespace impishim::wire {

/// A set of watched descriptors. Thread-safe like epoll: descriptors may be changed while another
/// thread waits. If construction failed (no descriptors left), every call returns an error.
class Poller {
 public:
  static constexpr std::uint64_t kWakeToken = ~std::uint64_t{0};

  Poller();
  /// Watches `descriptor`, level-triggered. Events carry `token`.
  [[nodiscard]] Result<void> add(int descriptor, std::uint32_t events, std::uint64_t token);
  [[nodiscard]] Result<void> modify(int descriptor, std::uint32_t events, std::uint64_t token);
  [[nodiscard]] Result<void> remove(int descriptor);
  /// Waits at most `timeout` (negative: without bound) and returns the number of events. Returns 0
  /// after a time-out, a signal or wake().
  [[nodiscard]] Result<std::size_t> wait(std::chrono::microseconds timeout,
                                         std::span<epoll_event> events);
  /// Returns the events that are ready now, without waiting. Unlike wait(), it does not consume a
  /// wake().
  [[nodiscard]] Result<std::size_t> ready(std::span<epoll_event> events);
  /// Ends one wait(): the current one or the next.
  void wake();

 private:
  [[nodiscard]] Result<void> control(int operation, int descriptor, std::uint32_t events,
                                     std::uint64_t token);
  Descriptor epoll_;
  Descriptor wake_;
};

}  // namespace impishim::wire
