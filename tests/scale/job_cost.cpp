// SPDX-License-Identifier: Apache-2.0
#include "tests/scale/job_cost.hpp"

#include <malloc.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tests/scale/simulation.hpp"
#include "wire/base/descriptor.hpp"
#include "wire/channel/shared_memory_channel.hpp"
#include "wire/channel/tcp_channel.hpp"
#include "wire/engine/engine.hpp"
#include "wire/startup/negotiation.hpp"
#include "wire/startup/startup_client.hpp"
#include "wire/startup/startup_message.hpp"
#include "wire/topology/host_plan.hpp"
#include "wire/topology/host_size.hpp"
#include "wire/topology/job_map_codec.hpp"

namespace impishim::wire::test {
namespace {

/// AUTH, IMPI, the sizes of the systems, all other labels with DONE.
constexpr int kRoundTrips = 4;
/// Of a COLL answer besides its data: command, length, label and mask.
constexpr std::size_t kAnswerHeader = 16;
/// Each direction of a shared-memory link is a ring with a page for its state.
constexpr std::size_t kRingBytes = 2 * (kRingCapacity + 4096);

std::int32_t procs_of_a_host(const JobSize& size) {
  std::vector<SystemSize> systems;
  for (std::int32_t client = 0; client < size.systems; ++client)
    systems.push_back({.client = client, .procs = size.procs_of_a_system, .lanes = size.lanes});
  const auto chosen = choose_host_procs(systems, size.systems);
  if (!chosen) throw std::logic_error(chosen.error().text);
  return std::min(*chosen, size.procs_of_a_node);
}

std::vector<PlannedHost> hosts_of_a_system(const JobSize& size) {
  std::vector<std::int32_t> places;
  for (std::int32_t rank = 0; rank < size.procs_of_a_system; ++rank)
    places.push_back(rank / size.procs_of_a_node);
  return plan_hosts(places, procs_of_a_host(size), {});
}

std::size_t heap_in_use() {
  const auto heap = mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

/// Returns what the engine of a process with this number of channels to other hosts has on the
/// heap, without the map.
std::size_t heap_of_engine(std::int32_t channels) {
  EngineOptions options;
  options.job = make_large_job({1 + channels, 1 + channels, 1});
  options.format_of_client.assign(options.job.clients().size(), Format::kNative);
  std::vector<Descriptor> peers;
  const std::size_t before = heap_in_use();
  for (std::int32_t host = 1; host <= channels; ++host) {
    std::array<int, 2> ends{-1, -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0)
      throw std::logic_error("no socket pair");
    options.host_channels.push_back(
        {host, std::make_unique<TcpChannel>(Descriptor(ends[0]), "192.0.2.1:40000")});
    peers.emplace_back(ends[1]);
  }
  const Engine engine(std::move(options));
  return heap_in_use() - before;
}

/// Returns what one more channel adds.
std::size_t heap_of_channel() {
  constexpr std::int32_t kFew = 8;
  constexpr std::int32_t kMany = 24;
  return (heap_of_engine(kMany) - heap_of_engine(kFew)) / (kMany - kFew);
}

JoinOptions announced_by(const JobSize& size, std::int32_t client) {
  JoinOptions options;
  options.client = client;
  for (const PlannedHost& planned : hosts_of_a_system(size)) {
    LocalHost host;
    host.node = "node-00000";
    host.procs.resize(static_cast<std::size_t>(planned.count));
    options.hosts.push_back(std::move(host));
  }
  return options;
}

}  // namespace

JobCost cost_of(const JobSize& size, std::size_t routes) {
  const auto planned = hosts_of_a_system(size);
  const auto hosts = static_cast<std::int32_t>(planned.size()) * size.systems;
  const std::int32_t procs = planned.front().count;
  const ScaleFigures figures = simulate({size.systems, hosts, procs, size.lanes}, routes);
  JobCost cost;
  cost.host_procs = procs;
  cost.channels = figures.most_to_other_systems;
  cost.local_links = figures.local_queues;
  cost.descriptors = cost.channels + cost.local_links;
  cost.routing_bytes = figures.routing_bytes;
  cost.channel_bytes = cost.descriptors * heap_of_channel();
  cost.ring_bytes = cost.local_links * kRingBytes;
  for (std::size_t hops = 1; hops < figures.routes.size(); ++hops)
    cost.hops += static_cast<double>(hops * figures.routes[hops]) / static_cast<double>(routes);
  cost.relayed = 1.0 - static_cast<double>(figures.routes[1]) / static_cast<double>(routes);
  return cost;
}

StartupCost startup_of(const JobSize& size) {
  StartupCost cost;
  cost.round_trips = kRoundTrips;
  const auto labels = contributions(announced_by(size, 0));
  for (const auto& [label, data] : labels) {
    cost.sent += encode_coll(label, data).size();
    cost.received += kAnswerHeader + data.size() * static_cast<std::size_t>(size.systems);
  }
  const auto planned = hosts_of_a_system(size);
  const auto hosts = static_cast<std::int32_t>(planned.size()) * size.systems;
  cost.broadcast =
      encode_job_map(make_large_job({size.systems, hosts, planned.front().count})).size();
  return cost;
}

}  // namespace impishim::wire::test
