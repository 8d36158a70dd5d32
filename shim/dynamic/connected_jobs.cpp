// SPDX-License-Identifier: Apache-2.0
#include "shim/dynamic/connected_jobs.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "shim/job/connected_hosts.hpp"
#include "shim/job/job.hpp"
#include "shim/values/rank_list.hpp"
#include "wire/base/hash.hpp"
#include "wire/base/mutex.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/engine/engine.hpp"
#include "wire/port/group_info.hpp"
#include "wire/port/open_port.hpp"
#include "wire/startup/bootstrap.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::shim {
namespace {

/// Returns a number that tells this job from others: a hash of all its processes.
std::uint64_t number_of(const wire::JobMap& map) {
  Fnv1a hash;
  for (const wire::Proc& proc : map.procs()) {
    for (const std::byte each : proc.id.host) hash.add(std::to_integer<std::uint8_t>(each));
    for (unsigned shift = 0; shift < 64; shift += 8)
      hash.add(static_cast<std::uint8_t>(static_cast<std::uint64_t>(proc.id.pid) >> shift));
  }
  return hash.value();
}

wire::Client client_of(const wire::GroupMember& member, const wire::Client& own) {
  wire::Client client;
  client.impishim = true;
  client.representation = member.representation;
  client.collectives = own.collectives;  // the roots have compared it
  client.traits.concurrent = member.concurrent;
  return client;
}

}  // namespace

ConnectedJobs::ConnectedJobs(Job& job) : job_(job), job_number_(number_of(job.map.at_start())) {}

ConnectedJobs::~ConnectedJobs() { job_.connected_jobs.store(nullptr, std::memory_order_release); }

Result<std::string> ConnectedJobs::open_port() {
  auto opened = wire::OpenPort::open(job_.map.proc(job_.here).id.host, job_.ports);
  if (!opened) return opened.error();
  std::string name = (*opened)->name().text();
  const MutexLock lock(mutex_);
  ports_.emplace(name, std::move(*opened));
  return name;
}

std::shared_ptr<wire::OpenPort> ConnectedJobs::port(const std::string& name) {
  const MutexLock lock(mutex_);
  const auto found = ports_.find(name);
  return found == ports_.end() ? nullptr : found->second;
}

bool ConnectedJobs::close_port(const std::string& name) {
  const MutexLock lock(mutex_);
  return ports_.erase(name) != 0;
}

wire::GroupMember ConnectedJobs::describe(std::uint16_t port) const {
  const wire::JobMap& map = job_.map;
  const wire::Proc& proc = map.proc(job_.here);
  const wire::Client& client = map.client(job_.client);
  wire::GroupMember member;
  member.id = proc.id;
  member.address = proc.id.host;
  member.port = port;
  member.job = job_number_;
  member.system = job_.client;
  member.representation = client.representation;
  member.concurrent = client.traits.concurrent;
  member.node = map.node_name(proc.host);
  return member;
}

RankList ConnectedJobs::extend(const std::vector<wire::GroupMember>& members,
                               std::vector<std::unique_ptr<wire::Channel>> channels) {
  const MutexLock lock(growth_mutex_);
  const wire::JobMap& now = job_.map;
  std::vector<wire::Client> clients;
  std::vector<wire::AddedProc> procs;
  std::vector<wire::HostChannel> host_channels;
  std::vector<std::int32_t> hosts;
  RankList ranks;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const wire::GroupMember& member = members[i];
    if (channels[i] == nullptr) {
      ranks.push_back(now.rank_of(member.id));
      continue;
    }
    const auto next = static_cast<std::int32_t>(now.clients().size() + clients.size());
    const auto [client, is_new] = clients_.emplace(std::pair(member.job, member.system), next);
    if (is_new) clients.push_back(client_of(member, now.client(job_.client)));
    procs.push_back({client->second, member.address, member.id, member.node});
    hosts.push_back(static_cast<std::int32_t>(now.hosts().size() + hosts.size()));
    host_channels.push_back({hosts.back(), std::move(channels[i])});
    ranks.push_back(now.size() + static_cast<wire::WorldRank>(hosts.size()) - 1);
  }
  if (hosts.empty()) return ranks;
  wire::JobMap grown = now.extended(clients, procs);
  std::vector<wire::Format> formats;
  for (const wire::Client& each : grown.clients())
    formats.push_back(wire::format_for(each, job_.wire_format, job_.limits.as_lam));
  job_.map.replace(grown);
  job_.engine->extend(std::move(grown), std::move(formats), std::move(host_channels));
  job_.connected_hosts.add(hosts);
  return ranks;
}

ConnectedJobs& connected_jobs(Job& job) {
  if (ConnectedJobs* made = job.connected_jobs.load(std::memory_order_acquire); made != nullptr)
    return *made;
  std::call_once(job.connected_jobs_once, [&job] {
    job.connected_jobs_owner = std::make_shared<ConnectedJobs>(job);
    job.connected_jobs.store(job.connected_jobs_owner.get(), std::memory_order_release);
  });
  return *job.connected_jobs.load(std::memory_order_acquire);
}

}  // namespace impishim::shim
