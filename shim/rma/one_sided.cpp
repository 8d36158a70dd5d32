// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "shim/job/job.hpp"
#include "shim/rma/window.hpp"
#include "wire/base/mutex.hpp"
#include "wire/startup/bootstrap.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::shim {

OneSided::OneSided(Job& job)
    : job_(job),
      remote_(*job.engine, job.here,
              [&job](wire::WorldRank rank) {
                const wire::JobMap& map = job.map;
                return wire::format_for(map.client(map.proc(rank).client), job.wire_format,
                                        job.limits.as_lam);
              }),
      local_(job.private_comm, job.map.client(job.client).first_proc),
      service_(remote_, &local_,
               [&job](wire::WorldRank rank) { return job.map.proc(rank).client == job.client; }) {
  job_.engine->add_poll_observer(service_);
  job_.window_service.store(&service_, std::memory_order_release);
}

OneSided::~OneSided() {
  job_.one_sided.store(nullptr, std::memory_order_release);
  job_.window_service.store(nullptr, std::memory_order_release);
  job_.engine->remove_poll_observer(service_);
}

Window& OneSided::add(std::unique_ptr<Window> window) {
  Window& added = *window;
  {
    const MutexLock lock(mutex_);
    windows_.push_back(std::move(window));
  }
  service_.add(added.id(), added.target);
  return added;
}

std::shared_ptr<Window> OneSided::share(const Window& window) {
  const MutexLock lock(mutex_);
  return *std::ranges::find(windows_, &window, &std::shared_ptr<Window>::get);
}

void OneSided::drop(const Window& window) {
  const MutexLock lock(mutex_);
  std::erase_if(windows_, [&](const auto& each) { return each.get() == &window; });
}

OneSided& one_sided(Job& job) {
  if (OneSided* made = job.one_sided.load(std::memory_order_acquire); made != nullptr) return *made;
  std::call_once(job.one_sided_once, [&job] {
    job.one_sided_owner = std::make_shared<OneSided>(job);
    job.one_sided.store(job.one_sided_owner.get(), std::memory_order_release);
  });
  return *job.one_sided.load(std::memory_order_acquire);
}

}  // namespace impishim::shim
