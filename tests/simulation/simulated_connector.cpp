// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/simulated_connector.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"
#include "wire/resume/connection_slot.hpp"
#include "wire/resume/resumable_channel.hpp"
#include "wire/stripe/striped_channel.hpp"

namespace impishim::wire::test {
namespace {

/// Longest time until a lost connection is made again, and between the deliveries to its two ends.
constexpr VirtualTime kConnects = 100 * kMillisecond;
constexpr VirtualTime kDelivers = 20 * kMillisecond;

}  // namespace

SimulatedConnector::SimulatedConnector(VirtualClock& clock, Random& random,
                                       SimulatedNetwork& network, bool is_first)
    : clock_(clock), random_(random), network_(network), is_first_(is_first) {
  const auto service = WakeEvent::make().value();
  for (End& end : ends_) end.slot = ConnectionSlot::make(service).value();
}

std::array<std::unique_ptr<Channel>, 2> SimulatedConnector::first_channels(
    std::size_t bound, const std::vector<SimulatedConnector*>& others) {
  auto [near, far] = network_.connect();
  ++connections_;
  // Silent ends ask each other, and none is ever given up.
  const ResumeLimits limits{.kept = bound, .answer = std::chrono::hours(1)};
  if (!others.empty()) {
    std::array<StripedChannel::Slots, 2> slots;
    for (std::size_t end = 0; end < slots.size(); ++end) {
      slots[end].push_back(ends_[end].slot);
      for (SimulatedConnector* const each : others) slots[end].push_back(each->ends_[end].slot);
    }
    return {StripedChannel::make(std::move(near), std::move(slots[0]), limits).value(),
            StripedChannel::make(std::move(far), std::move(slots[1]), limits).value()};
  }
  return {ResumableChannel::make(std::move(near), ends_[0].slot, limits).value(),
          ResumableChannel::make(std::move(far), ends_[1].slot, limits).value()};
}

void SimulatedConnector::look() {
  for (End& end : ends_) {
    if (!end.gone && end.slot->take_loss()) end.lost = true;
  }
  if (awaited_ == 0 && (ends_[0].lost || ends_[1].lost)) plan();
}

void SimulatedConnector::plan() {
  ++awaited_;
  clock_.after(random_.scaled(kConnects), [this] {
    --awaited_;
    connect_again();
  });
}

void SimulatedConnector::connect_again() {
  for (std::size_t end = 0; end < ends_.size(); ++end) {
    if (ends_[end].gone) return give_up(1 - end);
  }
  const auto way = faults_ ? random_.below(4) : 0;
  if (way == 1) return connect(true);
  const auto count = way == 2 ? 1 + random_.below(3) : 1;
  for (std::uint64_t i = 0; i < count; ++i) connect(false);
}

void SimulatedConnector::replace() {
  if (!ends_[0].gone && !ends_[1].gone) connect_again();
}

void SimulatedConnector::connect(bool to_one_only) {
  ++connections_;
  auto channels = network_.connect();
  const std::size_t first = random_.below(2);
  deliver(first, std::move(channels[first]), random_.scaled(kDelivers));
  if (!to_one_only) deliver(1 - first, std::move(channels[1 - first]), random_.scaled(kDelivers));
}

void SimulatedConnector::deliver(std::size_t end, std::unique_ptr<Channel> connection,
                                 VirtualTime delay) {
  ++awaited_;
  // An action can be copied, a channel cannot.
  auto held = std::make_shared<std::unique_ptr<Channel>>(std::move(connection));
  clock_.after(delay, [this, end, held] {
    --awaited_;
    if (ends_[end].gone) return held->reset();
    ends_[end].lost = false;
    ends_[end].slot->deliver(std::move(*held));
  });
}

void SimulatedConnector::give_up(std::size_t end) {
  if (!is_first_ || ends_[end].gone || !ends_[end].lost) return;
  ends_[end].lost = false;
  ends_[end].slot->give_up({ErrorKind::kConnection, "the peer cannot be reached"});
}

void SimulatedConnector::end_is_gone(std::size_t end) {
  ends_[end].gone = true;
  ends_[end].lost = false;
  static_cast<void>(ends_[end].slot->take());
}

void SimulatedFaults::begin(std::vector<SimulatedConnector*> connectors, VirtualTime end,
                            VirtualTime gap) {
  connectors_ = std::move(connectors);
  end_ = end;
  gap_ = gap;
  next();
}

void SimulatedFaults::next() {
  clock_.after(1 + random_.scaled(gap_), [this] {
    if (clock_.now() >= end_) {
      stopped_ = true;
      for (SimulatedConnector* const each : connectors_) each->stop_faults();
      return;
    }
    if (random_.one_in(4)) {
      connectors_[random_.below(connectors_.size())]->replace();
    } else {
      network_.cut_any();
    }
    next();
  });
}

}  // namespace impishim::wire::test
