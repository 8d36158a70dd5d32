// SPDX-License-Identifier: Apache-2.0
#include "shim/job/connected_hosts.hpp"

#include <cstdint>
#include <set>
#include <vector>

#include "shim/job/communicator.hpp"
#include "shim/job/job.hpp"
#include "wire/base/mutex.hpp"
#include "wire/engine/engine.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::shim {

void ConnectedHosts::add(const std::vector<std::int32_t>& hosts) {
  const MutexLock lock(mutex_);
  hosts_.insert(hosts_.end(), hosts.begin(), hosts.end());
}

void ConnectedHosts::release_unused(Job& job) {
  const MutexLock lock(mutex_);
  if (hosts_.empty()) return;
  std::set<std::int32_t> used;
  job.communicators.for_each([&](const Communicator& each) {
    for (const auto* group : {&each.members, &each.own_group()}) {
      for (const wire::WorldRank member : *group) used.insert(job.map.proc(member).host);
    }
  });
  std::erase_if(hosts_, [&](std::int32_t host) {
    if (used.contains(host)) return false;
    job.engine->release(host);
    return true;
  });
}

}  // namespace impishim::shim
