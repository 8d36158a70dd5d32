// SPDX-License-Identifier: Apache-2.0
#include "shim/job/communicator.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "wire/base/mutex.hpp"
#include "wire/message/operation.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::shim {

std::unique_ptr<Communicator> Communicator::create(const wire::JobMap& job, wire::WorldRank here,
                                                   MPI_Comm handle, wire::ContextId context,
                                                   std::vector<wire::WorldRank> members) {
  auto made = std::make_unique<Communicator>();
  made->handle = handle;
  made->context = context;
  made->members = std::move(members);
  const auto client_of = [&](wire::WorldRank proc) { return job.proc(proc).client; };
  const auto host_of = [&](wire::WorldRank proc) { return job.proc(proc).host; };
  std::map<std::int32_t, std::int32_t> master_index;  // client -> index in masters
  std::set<std::int32_t> hosts;
  for (std::int32_t rank = 0; rank < made->size(); ++rank) {
    const wire::WorldRank proc = made->members[static_cast<std::size_t>(rank)];
    if (proc == here) made->rank = rank;
    const bool local = client_of(proc) == client_of(here);
    made->local_ranks.push_back(local ? static_cast<std::int32_t>(made->spanning_ranks.size())
                                      : -1);
    if (local) made->spanning_ranks.push_back(rank);
    // Ranks ascend, so the first rank of a client is its lowest.
    const auto [entry, first] =
        master_index.emplace(client_of(proc), static_cast<std::int32_t>(made->masters.size()));
    if (first) made->masters.push_back(rank);
    made->master_of.push_back(entry->second);
    hosts.insert(host_of(proc));
    made->connects_jobs = made->connects_jobs || job.host(host_of(proc)).direct;
  }
  for (std::size_t i = 0; i < made->spanning_ranks.size(); ++i) {
    made->local_ranks_are_spanning = made->spanning_ranks[i] == static_cast<std::int32_t>(i);
    if (!made->local_ranks_are_spanning) break;
  }
  // Colours are in the order of host ranks in MPI_COMM_WORLD (IMPI 2.5).
  made->host_count = static_cast<std::int32_t>(hosts.size());
  made->host_color =
      static_cast<std::int32_t>(std::distance(hosts.begin(), hosts.find(host_of(here))));
  made->client_color = static_cast<std::int32_t>(
      std::distance(master_index.begin(), master_index.find(client_of(here))));
  return made;
}

Communicator* CommunicatorTable::insert(std::unique_ptr<Communicator> communicator) {
  const MutexLock lock(mutex_);
  Communicator* made = owned_.emplace_back(std::move(communicator)).get();
  by_handle_.insert(made->handle, *made);
  return made;
}

void CommunicatorTable::hide(Communicator& communicator) { by_handle_.erase(communicator.handle); }

void CommunicatorTable::show(Communicator& communicator) {
  by_handle_.insert(communicator.handle, communicator);
}

void CommunicatorTable::retire(Communicator& communicator) {
  const MutexLock lock(mutex_);
  retired_.push_back(&communicator);
  retired_count_.store(retired_.size(), std::memory_order_relaxed);
}

std::vector<Communicator*> CommunicatorTable::take_ended() {
  const MutexLock lock(mutex_);
  const auto in_use = [](const Communicator* each) {
    return each->pending.load(std::memory_order_acquire) != 0;
  };
  const auto first = std::partition(retired_.begin(), retired_.end(), in_use);
  std::vector<Communicator*> ended(first, retired_.end());
  retired_.erase(first, retired_.end());
  retired_count_.store(retired_.size(), std::memory_order_relaxed);
  return ended;
}

void CommunicatorTable::drop(const Communicator& communicator) {
  const MutexLock lock(mutex_);
  std::erase_if(owned_, [&](const auto& each) { return each.get() == &communicator; });
}

std::vector<Communicator*> CommunicatorTable::all() const {
  std::vector<Communicator*> communicators;
  for_each([&](Communicator& each) { communicators.push_back(&each); });
  return communicators;
}

}  // namespace impishim::shim
