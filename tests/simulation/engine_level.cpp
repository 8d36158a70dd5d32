// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulation/levels.hpp"
#include "tests/simulation/message_plan.hpp"
#include "tests/simulation/random.hpp"
#include "tests/simulation/simulated_connector.hpp"
#include "tests/simulation/simulated_network.hpp"
#include "tests/simulation/violation.hpp"
#include "tests/simulation/virtual_clock.hpp"
#include "tests/unit/wire/engine/simulated_job.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/memory_channel.hpp"
#include "wire/engine/engine.hpp"
#include "wire/link/relay_credit.hpp"
#include "wire/resume/resumable_channel.hpp"
#include "wire/topology/job_map.hpp"
#include "wire/topology/route.hpp"

namespace impishim::wire::test {
namespace {

constexpr int kMostProcs = 6;
/// Longest time in which the job must end when no more faults happen.
constexpr VirtualTime kEnds = 120 * kSecond;
constexpr VirtualTime kShortestPause = 10;
constexpr VirtualTime kLongestPause = 5 * kMillisecond;
/// Latest time at which a client is lost.
constexpr VirtualTime kLatestLoss = 300 * kMillisecond;
/// Longest time for which a process stands still.
constexpr VirtualTime kLongestStop = 200 * kMillisecond;

JobShape draw_job(Random& random) {
  JobShape shape;
  shape.procs_of_hosts.clear();
  const auto systems = random.between(2, 3);
  int procs = 0;
  for (std::uint64_t i = 0; i < systems; ++i) {
    shape.procs_of_hosts.emplace_back();
    const auto hosts = random.between(1, 2);
    for (std::uint64_t host = 0; host < hosts; ++host) {
      const int rest = kMostProcs - procs - static_cast<int>(systems - i - 1);
      if (rest == 0) break;
      const int count = std::min(rest, static_cast<int>(random.between(1, 2)));
      shape.procs_of_hosts.back().push_back(count);
      procs += count;
    }
  }
  shape.values.datalen = static_cast<std::uint32_t>(random.between(500, 65536));
  shape.values.lanes = static_cast<std::int32_t>(random.between(1, 2));
  shape.seed = static_cast<std::uint32_t>(random.next());
  return shape;
}

NetworkShape draw_network(Random& random) {
  NetworkShape shape;
  shape.capacity = 1000 + random.scaled(1U << 17U);
  shape.most_delay = 1 + random.scaled(2 * kMillisecond);
  return shape;
}

class EngineJob {
 public:
  EngineJob(std::uint64_t seed, bool loses)
      : random_(seed),
        loses_(loses),
        shape_(draw_job(random_)),
        job_(make_job(shape_)),
        network_(clock_, random_, draw_network(random_)),
        faults_(clock_, random_, network_),
        plan_(job_, random_),
        processes_(static_cast<std::size_t>(job_.size())) {
    std::vector<EngineOptions> options(processes_.size());
    for (std::size_t rank = 0; rank < options.size(); ++rank) {
      options[rank].job = job_;
      options[rank].here = static_cast<WorldRank>(rank);
      options[rank].format_of_client.assign(job_.clients().size(), Format::kNative);
      // Credit that is not given back is missed soon.
      if (loses_) {
        options[rank].relay.local_sender_limit = RelayDebt::kLeastLimit;
        options[rank].relay.remote_sender_limit = RelayDebt::kLeastLimit;
      }
    }
    join_hosts(options);
    join_procs(options);
    for (std::size_t rank = 0; rank < options.size(); ++rank) {
      processes_[rank].engine = std::make_unique<Engine>(std::move(options[rank]));
      processes_[rank].engine->survive_losses(loses_);
    }
  }
  EngineJob(const EngineJob&) = delete;
  EngineJob& operator=(const EngineJob&) = delete;
  ~EngineJob() {
    network_.drain(true);
    clock_.clear();
    for (Process& each : processes_) each.engine.reset();
  }

  void run(SimulationTotals& totals) {
    std::vector<SimulatedConnector*> connectors;
    for (const auto& each : connectors_) connectors.push_back(each.get());
    const VirtualTime faults_end = random_.one_in(20) ? 0 : random_.scaled(500 * kMillisecond);
    faults_.begin(connectors, faults_end, faults_end / 40 + random_.scaled(20 * kMillisecond));
    for (std::size_t rank = 0; rank < processes_.size(); ++rank) step_soon(rank, kShortestPause);
    if (loses_) clock_.after(random_.scaled(kLatestLoss), [this] { lose_client(); });
    while (left_ < processes_.size()) {
      if (!clock_.run_next()) throw Violation("nothing will happen any more: " + state());
      for (SimulatedConnector* const each : connectors) each->look();
      if (clock_.now() > faults_end + kEnds) throw Violation("no end in time: " + state());
    }
    plan_.check();
    totals.bytes += plan_.bytes();
    totals.messages += plan_.messages();
    totals.cuts += network_.cuts();
    for (SimulatedConnector* const each : connectors) totals.connections += each->connections() - 1;
    totals.repeated += repeated_;
  }

 private:
  /// One end of a connector, and the channel there.
  struct HostEnd {
    SimulatedConnector* connector = nullptr;
    std::size_t end = 0;
    const ResumableChannel* channel = nullptr;
  };
  struct Process {
    std::unique_ptr<Engine> engine;
    std::vector<HostEnd> ends;
    bool closing = false;
    bool closed = false;
    std::size_t losses_handled = 0;
  };

  void join_hosts(std::vector<EngineOptions>& options) {
    const auto hosts = static_cast<std::int32_t>(job_.hosts().size());
    for (std::int32_t low = 0; low < hosts; ++low) {
      for (std::int32_t high = low + 1; high < hosts; ++high) {
        for (std::int32_t lane = 0; lane < lanes_between(job_, low, high); ++lane)
          join_hosts(options, {low, high}, lane);
      }
    }
  }

  void join_hosts(std::vector<EngineOptions>& options, std::array<std::int32_t, 2> hosts,
                  std::int32_t lane) {
    connectors_.push_back(std::make_unique<SimulatedConnector>(clock_, random_, network_));
    auto channels = connectors_.back()->first_channels(ResumeLimits().kept);
    for (std::size_t end = 0; end < 2; ++end) {
      const std::int32_t other = hosts[1 - end];
      const auto owner = static_cast<std::size_t>(representative(job_, hosts[end], other, lane));
      processes_[owner].ends.push_back(
          {connectors_.back().get(), end, static_cast<ResumableChannel*>(channels[end].get())});
      options[owner].host_channels.push_back({other, std::move(channels[end])});
    }
  }

  void join_procs(std::vector<EngineOptions>& options) {
    for (WorldRank low = 0; low < job_.size(); ++low) {
      for (const WorldRank high : local_partners(job_, low)) {
        if (high < low) continue;
        MemoryChannelOptions channel;
        channel.capacity = 1U << 17U;
        channel.seed = static_cast<std::uint32_t>(random_.next());
        auto [left, right] = MemoryChannel::make_pair(channel);
        options[static_cast<std::size_t>(low)].local_channels.push_back({high, std::move(left)});
        options[static_cast<std::size_t>(high)].local_channels.push_back({low, std::move(right)});
      }
    }
  }

  void step_soon(std::size_t rank, VirtualTime pause) {
    const bool stops = !faults_.stopped() && random_.one_in(300);
    const VirtualTime delay =
        stops ? random_.scaled(kLongestStop) : kShortestPause / 2 + random_.below(pause);
    clock_.after(delay, [this, rank, pause] {
      if (processes_[rank].engine == nullptr) return;  // lost, or it has left
      const std::size_t events = step(rank);
      if (processes_[rank].engine->closed() && !processes_[rank].closed) leave_soon(rank);
      // As the library's progress thread does until the whole system has closed: what a channel
      // has accepted may not have left yet.
      step_soon(rank, events > 0 ? kShortestPause : std::min(2 * pause, kLongestPause));
    });
  }

  std::size_t step(std::size_t rank) {
    Process& process = processes_[rank];
    const auto here = static_cast<WorldRank>(rank);
    if (process.closed) return process.engine->poll(random_.one_in(2));
    bool begins = false;
    for (auto i = random_.below(4); i > 0; --i)
      begins = plan_.begin_next(here, *process.engine) || begins;
    if (!process.closing && plan_.complete(here)) {
      process.closing = true;
      process.engine->close();
    }
    const std::size_t events = process.engine->poll(random_.one_in(2));
    const Error* const failure = process.engine->failure();
    if (failure != nullptr) throw Violation(fmt::format("process {}: {}", rank, failure->text));
    handle_loss(here, process);
    return events + (begins ? 1 : 0);
  }

  /// Ends all processes of a client that are left, as a crash of its machine does.
  void lose_client() {
    const auto client = static_cast<std::int32_t>(random_.below(job_.clients().size()));
    plan_.lose(client);
    for (std::size_t rank = 0; rank < processes_.size(); ++rank) {
      if (job_.proc(static_cast<WorldRank>(rank)).client == client) leave(processes_[rank]);
    }
  }

  /// Does for a loss what the shim does for each communicator.
  void handle_loss(WorldRank here, Process& process) {
    Engine& engine = *process.engine;
    if (engine.lost_count() == process.losses_handled) return;
    process.losses_handled = engine.lost_count();
    for (const std::int32_t client : engine.lost_clients()) {
      std::vector<std::int32_t> ranks;
      for (WorldRank rank = 0; rank < job_.size(); ++rank) {
        if (job_.proc(rank).client == client) ranks.push_back(rank);
      }
      for (ContextId context = 0; context < kNamings; ++context) {
        engine.close_sources(context, client, ranks);
        engine.open_any_source(context);
      }
    }
    plan_.knows_loss(here);
  }

  /// Ends a process when all processes of its host have closed: a channel in memory, unlike one of
  /// the library, does not carry what was sent before the end.
  void leave_soon(std::size_t rank) {
    processes_[rank].closed = true;
    const Host& host = job_.host(job_.proc(static_cast<WorldRank>(rank)).host);
    const auto procs = std::span(processes_)
                           .subspan(static_cast<std::size_t>(host.first_proc),
                                    static_cast<std::size_t>(host.proc_count));
    if (!std::ranges::all_of(procs, &Process::closed)) return;
    for (Process& each : procs)
      clock_.after(random_.scaled(50 * kMillisecond), [this, &each] { leave(each); });
  }

  void leave(Process& process) {
    if (process.engine == nullptr) return;  // lost before
    for (const HostEnd& each : process.ends) repeated_ += each.channel->counters().repeated;
    network_.drain(true);
    process.engine.reset();
    network_.drain(false);
    for (const HostEnd& each : process.ends) each.connector->end_is_gone(each.end);
    ++left_;
  }

  [[nodiscard]] std::string state() const {
    std::string text = fmt::format("at {} us", clock_.now());
    for (std::size_t rank = 0; rank < processes_.size(); ++rank) {
      const Process& process = processes_[rank];
      text += fmt::format("\n{}", process.engine ? process.engine->report()
                                                 : fmt::format("process {} is gone", rank));
    }
    return text;
  }

  Random random_;
  bool loses_;
  JobShape shape_;
  JobMap job_;
  VirtualClock clock_;
  SimulatedNetwork network_;
  SimulatedFaults faults_;
  MessagePlan plan_;
  std::vector<std::unique_ptr<SimulatedConnector>> connectors_;
  std::vector<Process> processes_;
  std::size_t left_ = 0;  ///< processes that have closed and ended
  std::uint64_t repeated_ = 0;
};

}  // namespace

void run_engine_seed(std::uint64_t seed, SimulationTotals& totals) {
  EngineJob(seed, false).run(totals);
}

void run_loss_seed(std::uint64_t seed, SimulationTotals& totals) {
  EngineJob(seed, true).run(totals);
}

}  // namespace impishim::wire::test
