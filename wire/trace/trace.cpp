// SPDX-License-Identifier: Apache-2.0
#include "wire/trace/trace.hpp"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "wire/base/mutex.hpp"
#include "wire/trace/clock_line.hpp"
#include "wire/trace/trace_event.hpp"

namespace impishim::wire {
namespace {

struct TracedThread {
  const Trace* trace = nullptr;
  std::uint16_t number = 0;
  std::uint32_t calls = 0;
};
thread_local TracedThread traced_thread;

std::string name_of_thread() {
  constexpr std::size_t kLongest = 16;
  std::array<char, kLongest> name{};
  return pthread_getname_np(pthread_self(), name.data(), name.size()) == 0 ? name.data() : "";
}

}  // namespace

Trace::Trace(std::size_t bytes, std::int64_t skew_ns)
    : capacity_(std::max<std::size_t>(bytes / sizeof(TraceEvent), 1)), skew_ns_(skew_ns) {
  // Memory that is only reserved costs nothing until events fill it. A ring that grew would copy
  // its events while a call waits.
  ring_.reserve(capacity_);
}

std::uint32_t& Trace::calls_of_thread() { return traced_thread.calls; }

std::uint16_t Trace::thread_number() {
  if (traced_thread.trace == this) [[likely]]
    return traced_thread.number;
  const MutexLock lock(mutex_);
  constexpr std::size_t kMost = std::numeric_limits<std::uint16_t>::max();
  if (threads_.size() < kMost) threads_.push_back(name_of_thread());
  traced_thread.trace = this;
  traced_thread.number = static_cast<std::uint16_t>(threads_.size() - 1);
  return traced_thread.number;
}

void Trace::add(TraceEvent event) {
  event.thread = thread_number();
  const MutexLock lock(mutex_);
  if (ended_) return;
  if (ring_.size() < capacity_) {
    ring_.push_back(event);
  } else {
    ring_[added_ % capacity_] = event;
  }
  ++added_;
}

void Trace::add_now(TraceEvent event) {
  event.begin_ns = now_ns();
  event.end_ns = event.begin_ns;
  add(event);
}

void Trace::measured(const ClockSample& sample) {
  const MutexLock lock(mutex_);
  clock_.add(sample);
}

std::optional<TraceContent> Trace::take() {
  const MutexLock lock(mutex_);
  if (std::exchange(ended_, true)) return std::nullopt;
  TraceContent content{std::move(ring_), 0, threads_, clock_};
  content.lost = added_ - content.events.size();
  if (content.lost > 0) {
    const auto oldest = static_cast<std::ptrdiff_t>(added_ % capacity_);
    std::rotate(content.events.begin(), content.events.begin() + oldest, content.events.end());
  }
  return content;
}

}  // namespace impishim::wire
