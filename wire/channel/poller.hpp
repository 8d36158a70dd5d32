/// Readiness of descriptors: epoll, and a way to end a wait from another thread.
#pragma once

#include <sys/epoll.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"

namespace impishim::wire {

/// Thread-safe, as epoll is: descriptors may be changed while another thread waits. A Poller that
/// could not be made (no descriptors left) reports that from every call.
class Poller {
 public:
  static constexpr std::uint64_t kWakeToken = ~std::uint64_t{0};

  Poller();
  /// Level-triggered; `token` comes back with the event.
  [[nodiscard]] Result<void> add(int descriptor, std::uint32_t events, std::uint64_t token);
  [[nodiscard]] Result<void> modify(int descriptor, std::uint32_t events, std::uint64_t token);
  [[nodiscard]] Result<void> remove(int descriptor);
  /// Waits at most `timeout` (less than 0: no bound) and returns the number of events; 0 after a
  /// time-out, a signal or wake().
  [[nodiscard]] Result<std::size_t> wait(std::chrono::microseconds timeout,
                                         std::span<epoll_event> events);
  /// What is ready now, without waiting: as wait() with no time, but a wake() is left to who waits.
  [[nodiscard]] Result<std::size_t> ready(std::span<epoll_event> events);
  /// Ends one wait(), now or the next.
  void wake();

 private:
  [[nodiscard]] Result<void> control(int operation, int descriptor, std::uint32_t events,
                                     std::uint64_t token);
  Descriptor epoll_;
  Descriptor wake_;
};

}  // namespace impishim::wire
