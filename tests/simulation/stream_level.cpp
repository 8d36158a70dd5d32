// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulation/levels.hpp"
#include "tests/simulation/random.hpp"
#include "tests/simulation/simulated_connector.hpp"
#include "tests/simulation/simulated_network.hpp"
#include "tests/simulation/stream_end.hpp"
#include "tests/simulation/violation.hpp"
#include "tests/simulation/virtual_clock.hpp"
#include "wire/resume/resend_buffer.hpp"
#include "wire/stripe/reorder_buffer.hpp"

namespace impishim::wire::test {
namespace {

constexpr std::uint64_t kMega = 1U << 20U;
constexpr std::size_t kLeastKernelBuffer = 256;
/// Longest time in which everything must end when no more faults happen.
constexpr VirtualTime kEnds = 60 * kSecond;
/// Longest pause of an owner that polls.
constexpr VirtualTime kLongestPause = 2 * kMillisecond;

/// What a seed determines, in the order in which it is drawn.
struct StreamShape {
  StreamShape(Random& random, bool with_strands) : large(random.one_in(40)) {
    bound = large ? random.between(2 * kMega, 4 * kMega) : 4 * kMega;
    network.splits_headers = random.one_in(2);
    network.capacity =
        large ? random.between(kMega / 16, kMega)
              : (network.splits_headers ? 1 : kLeastKernelBuffer << (with_strands ? 1U : 0U)) +
                    random.scaled(kMega / 16);
    network.most_delay = 1 + random.scaled(5 * kMillisecond);
    most_at_once = large ? kMega : 1 + random.scaled(100'000);
    // More calls than these show nothing new.
    const std::uint64_t most =
        large ? 6 * kMega
              : std::min<std::uint64_t>({200'000, network.capacity * 200, most_at_once * 600});
    for (std::uint64_t& each : sizes) each = random.scaled(most);
    if (large) sizes[random.below(2)] = random.between(bound, 2 * bound);
    faults_end = random.one_in(20) ? 0 : random.scaled(300 * kMillisecond);
    ends_together = !network.splits_headers && random.one_in(2);
    gap = faults_end / 40 + random.scaled(20 * kMillisecond);
    if (with_strands) strands = random.between(2, 5);
    network.uneven = with_strands && random.one_in(2);
  }

  bool large;  ///< so that streams reach their bound
  std::size_t bound = 0;
  NetworkShape network;
  std::array<std::uint64_t, 2> sizes{};
  std::size_t most_at_once = 0;
  VirtualTime faults_end = 0;
  VirtualTime gap = 0;
  std::uint64_t strands = 1;   ///< connections of a channel at once
  bool ends_together = false;  ///< no end is closed before both have ended
};

class StreamJob {
 public:
  StreamJob(std::uint64_t seed, bool with_strands)
      : random_(seed),
        shape_(random_, with_strands),
        network_(clock_, random_, shape_.network),
        connector_(clock_, random_, network_),
        faults_(clock_, random_, network_) {
    for (std::uint64_t i = 1; i < shape_.strands; ++i) {
      others_.push_back(std::make_unique<SimulatedConnector>(clock_, random_, network_, false));
      connectors_.push_back(others_.back().get());
    }
    auto channels = connector_.first_channels(shape_.bound, connectors_);
    connectors_.insert(connectors_.begin(), &connector_);
    for (std::size_t i = 0; i < ends_.size(); ++i) {
      const StreamPlan plan = {.to_send = shape_.sizes[i],
                               .to_receive = shape_.sizes[1 - i],
                               .first = i * 31337,
                               .first_received = (1 - i) * 31337,
                               .most_at_once = shape_.most_at_once,
                               .bound = shape_.bound,
                               .most_memory = most_memory(),
                               .watching = static_cast<Watching>(random_.below(3))};
      ends_[i] = std::make_unique<StreamEnd>(random_, std::move(channels[i]), plan);
    }
  }

  StreamJob(const StreamJob&) = delete;
  StreamJob& operator=(const StreamJob&) = delete;
  ~StreamJob() {
    network_.drain(true);
    clock_.clear();
  }

  void run(SimulationTotals& totals) {
    for (std::size_t i = 0; i < ends_.size(); ++i) step_soon(i, 1);
    faults_.begin(connectors_, shape_.faults_end, shape_.gap);
    while (!ends_[0]->closed() || !ends_[1]->closed()) {
      if (!clock_.run_next()) throw Violation("nothing will happen any more: " + state());
      for (SimulatedConnector* const each : connectors_) each->look();
      for (std::size_t i = 0; i < ends_.size(); ++i) look_after(i);
      if (clock_.now() > shape_.faults_end + kEnds) throw Violation("no end in time: " + state());
    }
    for (const auto& end : ends_) totals.bytes += end->received();
    totals.cuts += network_.cuts();
    for (SimulatedConnector* const each : connectors_) totals.connections += each->connections();
    --totals.connections;
    totals.repeated += repeated_;
  }

 private:
  [[nodiscard]] std::size_t most_memory() const {
    const std::size_t kept = shape_.bound + 2 * ResendBuffer::kBlockSize;
    if (shape_.strands == 1) return kept;
    const std::size_t spare = ReorderBuffer::kKeptBlocks * ReorderBuffer::kBlockSize;
    return 2 * kept + spare;
  }

  void step_soon(std::size_t i, VirtualTime pause) {
    clock_.after(1 + random_.below(pause), [this, i, pause] {
      StreamEnd& end = *ends_[i];
      const auto before = end.sent() + end.received();
      end.step();
      if (end.ended()) return end_met(i);
      if (end.fall_asleep()) return;
      if (end.ended()) return end_met(i);
      const bool moved = end.sent() + end.received() > before;
      step_soon(i, moved ? 20 : std::min(2 * pause, kLongestPause));
    });
  }

  /// From now on nobody looks after the end. If it is to be closed together with the other one,
  /// that one must not wait for it.
  void end_met(std::size_t i) {
    if (!shape_.ends_together) return close_soon(i);
    if (!ends_[1 - i]->ended()) return;
    close_soon(i);
    close_soon(1 - i);
  }

  void close_soon(std::size_t i) {
    clock_.after(random_.scaled(50 * kMillisecond), [this, i] {
      repeated_ += ends_[i]->counters().repeated;
      network_.drain(true);
      ends_[i]->close();
      network_.drain(false);
      for (SimulatedConnector* const each : connectors_) each->end_is_gone(i);
    });
  }

  /// Checks what must hold after each event, and wakes an end that something has happened to.
  void look_after(std::size_t i) {
    StreamEnd& end = *ends_[i];
    if (end.closed()) return;
    end.check_memory();
    const auto on_the_way = end.sent() - ends_[1 - i]->received();
    require(on_the_way <= shape_.bound, "{} bytes were sent and have not arrived", on_the_way);
    if (end.asleep() && end.wake_up()) step_soon(i, 10);
  }

  [[nodiscard]] std::string state() const {
    std::string text =
        fmt::format("at {} us (faults until {} us)", clock_.now(), shape_.faults_end);
    for (const auto& end : ends_) {
      text += fmt::format("; sent {} of {}, received {} of {}", end->sent(), end->plan().to_send,
                          end->received(), end->plan().to_receive);
      if (end->asleep()) text += ", asleep";
      if (end->ended()) text += ", ended";
    }
    return text;
  }

  Random random_;
  StreamShape shape_;
  VirtualClock clock_;
  SimulatedNetwork network_;
  SimulatedConnector connector_;
  std::vector<std::unique_ptr<SimulatedConnector>> others_;
  std::vector<SimulatedConnector*> connectors_;
  SimulatedFaults faults_;
  std::array<std::unique_ptr<StreamEnd>, 2> ends_;
  std::uint64_t repeated_ = 0;
};

}  // namespace

void run_stream_seed(std::uint64_t seed, SimulationTotals& totals) {
  StreamJob(seed, false).run(totals);
}

void run_striped_seed(std::uint64_t seed, SimulationTotals& totals) {
  StreamJob(seed, true).run(totals);
}

}  // namespace impishim::wire::test
