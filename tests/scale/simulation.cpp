// SPDX-License-Identifier: Apache-2.0
#include "tests/scale/simulation.hpp"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

#include "wire/base/bytes.hpp"
#include "wire/topology/route.hpp"

namespace impishim::wire::test {
namespace {

std::size_t heap_in_use() {
  const auto heap = mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

std::int32_t host_of(const JobMap& job, WorldRank proc) { return job.proc(proc).host; }

void count_queues(const JobMap& job, ScaleFigures& figures) {
  std::vector<std::size_t> connections(job.hosts().size());
  figures.fewest_remote_queues = job.hosts().size();
  std::size_t to_other_systems = 0;
  std::size_t most_to_other_systems = 0;
  for (WorldRank proc = 0; proc < job.size(); ++proc) {
    const auto represented = hosts_represented_by(job, proc);
    std::size_t carrying = 0;  // inside a system the vendor's MPI carries
    for (const std::int32_t host : represented) {
      if (sending_representative(job, proc, host) != proc) {
        throw std::logic_error(
            fmt::format("rank {} takes itself for the owner of a channel to host {}", proc, host));
      }
      if (job.host(host).client != job.proc(proc).client) ++carrying;
    }
    to_other_systems += carrying;
    most_to_other_systems = std::max(most_to_other_systems, carrying);
    connections[static_cast<std::size_t>(host_of(job, proc))] += represented.size();
    figures.remote_queues = std::max(figures.remote_queues, represented.size());
    figures.fewest_remote_queues = std::min(figures.fewest_remote_queues, represented.size());
    figures.local_queues = std::max(figures.local_queues, local_partners(job, proc).size());
  }
  figures.most_to_other_systems = most_to_other_systems;
  figures.balance = static_cast<double>(most_to_other_systems) * job.size() /
                    static_cast<double>(to_other_systems);
  figures.connections_of_a_host = *std::max_element(connections.begin(), connections.end());
}

/// Whom a packet of `source` reaches by `hop`.
WorldRank reached(const JobMap& job, WorldRank source, const NextHop& hop) {
  return hop.kind == NextHop::Kind::kLocal ? hop.proc
                                           : receiving_representative(job, source, hop.host);
}

void follow_routes(const JobMap& job, std::size_t routes, ScaleFigures& figures) {
  std::mt19937 random(1);
  std::uniform_int_distribution<WorldRank> any(0, job.size() - 1);
  const auto client_of = [&](WorldRank proc) { return job.proc(proc).client; };
  for (std::size_t drawn = 0; drawn < routes;) {
    const WorldRank from = any(random);
    const WorldRank to = any(random);
    if (client_of(from) == client_of(to)) continue;
    ++drawn;
    std::size_t hops = 0;
    for (WorldRank at = from; at != to; ++hops) {
      if (hops == figures.routes.size() - 1)
        throw std::logic_error(fmt::format("no end of a route from {} to {}", from, to));
      at = reached(job, from, next_hop(job, at, from, to));
    }
    ++figures.routes[hops];
  }
}

}  // namespace

JobMap make_large_job(const ScaleShape& shape) {
  std::vector<Client> clients;
  std::vector<Host> hosts;
  std::vector<ProcId> procs;
  for (std::int32_t c = 0; c < shape.systems; ++c) {
    Client client;
    client.impishim = true;
    client.host_count = shape.hosts / shape.systems + (c < shape.hosts % shape.systems ? 1 : 0);
    client.proc_count = client.host_count * shape.procs_of_a_host;
    for (std::int32_t h = 0; h < client.host_count; ++h) {
      Host host;
      store_big_endian(host.address.data() + host.address.size() - sizeof(std::uint32_t),
                       static_cast<std::uint32_t>(hosts.size()));
      host.proc_count = shape.procs_of_a_host;
      for (std::int32_t p = 0; p < shape.procs_of_a_host; ++p)
        procs.push_back({host.address, 1000 + p});
      hosts.push_back(host);
    }
    clients.push_back(client);
  }
  auto job = JobMap::create(std::move(clients), std::move(hosts), std::move(procs), {});
  if (!job) throw std::logic_error(job.error().text);
  job->set_lanes(shape.lanes);
  return std::move(job).value();
}

ScaleFigures simulate(const ScaleShape& shape, std::size_t routes) {
  ScaleFigures figures;
  const std::size_t heap_before = heap_in_use();
  const auto job = std::make_unique<JobMap>(make_large_job(shape));
  const std::vector<std::unique_ptr<int>> peers(
      static_cast<std::size_t>(job->size()));  // as the engine's: made when needed
  figures.routing_bytes = heap_in_use() - heap_before;
  figures.procs = job->size();
  count_queues(*job, figures);
  follow_routes(*job, routes, figures);
  return figures;
}

}  // namespace impishim::wire::test
