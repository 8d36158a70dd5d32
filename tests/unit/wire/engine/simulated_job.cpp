// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/wire/engine/simulated_job.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include "wire/topology/route.hpp"

namespace impishim::wire::test {
namespace {

/// Torn channels let whole rounds pass without moving a byte; so many in a row do not happen.
constexpr int kQuietRounds = 200;

}  // namespace

JobMap make_job(const JobShape& shape) {
  std::vector<Client> clients;
  std::vector<Host> hosts;
  std::vector<ProcId> procs;
  for (const auto& hosts_of_client : shape.procs_of_hosts) {
    Client client;
    client.host_count = static_cast<std::int32_t>(hosts_of_client.size());
    client.impishim = shape.foreign.count(static_cast<int>(clients.size())) == 0;
    for (const int count : hosts_of_client) {
      Host host;
      host.address[12] = std::byte{127};
      host.address[14] = static_cast<std::byte>(1 + shape.job);
      host.address[15] = static_cast<std::byte>(hosts.size());
      host.proc_count = count;
      if (hosts.size() < shape.gateways.size()) host.gateway = shape.gateways[hosts.size()];
      client.proc_count += count;
      for (int i = 0; i < count; ++i)
        procs.push_back({host.address, static_cast<std::int64_t>(100 + procs.size())});
      hosts.push_back(host);
    }
    clients.push_back(client);
  }
  auto job = JobMap::create(std::move(clients), std::move(hosts), std::move(procs), shape.values);
  EXPECT_TRUE(job.ok());
  return std::move(job).value();
}

SimulatedJob::SimulatedJob(const JobShape& shape) : job_(make_job(shape)) {
  const auto procs = static_cast<std::size_t>(job_.size());
  std::vector<EngineOptions> options(procs);
  for (std::size_t rank = 0; rank < procs; ++rank) {
    options[rank].job = job_;
    options[rank].here = static_cast<WorldRank>(rank);
    options[rank].relay = shape.relay;
    options[rank].format_of_client.assign(job_.clients().size(), shape.format);
    waiting_.insert(static_cast<int>(rank));
  }
  std::uint32_t seed = shape.seed;
  const auto next_seed = [&] { return shape.seed == 0 ? 0 : seed += 100; };
  const auto hosts = static_cast<std::int32_t>(job_.hosts().size());
  for (std::int32_t low = 0; low < hosts; ++low) {
    for (std::int32_t high = low + 1; high < hosts; ++high) {
      for (std::int32_t lane = 0; lane < lanes_between(job_, low, high); ++lane) {
        MemoryChannelOptions channel;
        channel.capacity = 1U << 17U;
        channel.seed = next_seed();
        if (shape.cut_hosts.empty() || shape.cut_hosts == std::vector{low, high})
          channel.cut_after = shape.cut_after;
        auto [left, right] = MemoryChannel::make_pair(channel);
        options[static_cast<std::size_t>(representative(job_, low, high, lane))]
            .host_channels.push_back({high, std::move(left)});
        options[static_cast<std::size_t>(representative(job_, high, low, lane))]
            .host_channels.push_back({low, std::move(right)});
      }
    }
    const Host& host = job_.host(low);
    for (std::int32_t a = host.first_proc; a < host.first_proc + host.proc_count; ++a) {
      for (const WorldRank b : local_partners(job_, a)) {
        if (b < a) continue;
        MemoryChannelOptions channel;
        channel.capacity = 1U << 17U;
        channel.seed = next_seed();
        auto [left, right] = MemoryChannel::make_pair(channel);
        options[static_cast<std::size_t>(a)].local_channels.push_back({b, std::move(left)});
        options[static_cast<std::size_t>(b)].local_channels.push_back({a, std::move(right)});
      }
    }
  }
  for (EngineOptions& each : options) engines_.push_back(std::make_unique<Engine>(std::move(each)));
}

std::size_t SimulatedJob::poll_all() {
  std::size_t events = 0;
  for (std::size_t rank = 0; rank < engines_.size(); ++rank) {
    if (engines_[rank] != nullptr && stopped_.count(static_cast<int>(rank)) == 0)
      events += engines_[rank]->poll(waiting_.count(static_cast<int>(rank)) > 0);
  }
  return events;
}

bool SimulatedJob::run_until(const std::function<bool()>& done) {
  for (int quiet = 0; quiet < kQuietRounds; ++quiet) {
    if (done()) return true;
    if (poll_all() > 0) quiet = 0;
  }
  return done();
}

void SimulatedJob::settle() {
  static_cast<void>(run_until([] { return false; }));
}

bool SimulatedJob::close_all() {
  for (auto& engine : engines_) engine->close();
  return run_until([this] {
    return std::all_of(engines_.begin(), engines_.end(), [](auto& each) { return each->closed(); });
  });
}

Send::Send(SimulatedJob& job, int from, int to, std::int32_t tag, std::vector<std::byte> bytes,
           SendMode mode, ContextId context)
    : data(std::move(bytes)) {
  operation.destination = to;
  operation.source_rank = from;
  operation.tag = tag;
  operation.mode = mode;
  operation.context = context;
  operation.buffer = {data.data(), data.size(), &TypeLayout::basic(BasicType::kByte)};
  job.engine(from).start(operation);
}

Receive::Receive(std::int32_t source, std::int32_t tag, std::size_t room, ContextId context)
    : data(room) {
  operation.source = source;
  operation.tag = tag;
  operation.context = context;
  operation.buffer = {data.data(), data.size(), &TypeLayout::basic(BasicType::kByte)};
}

Receive::Receive(SimulatedJob& job, int at, std::int32_t source, std::int32_t tag, std::size_t room,
                 ContextId context)
    : Receive(source, tag, room, context) {
  job.engine(at).start(operation);
}

std::vector<std::byte> Receive::bytes() const {
  return {data.begin(), data.begin() + static_cast<std::ptrdiff_t>(operation.result.native_bytes)};
}

std::vector<std::byte> pattern(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(size);
  for (auto& each : bytes) each = static_cast<std::byte>(random());
  return bytes;
}

}  // namespace impishim::wire::test
