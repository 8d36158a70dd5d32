// SPDX-License-Identifier: Apache-2.0
#include "shim/tool/tool_state.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "shim/handle/inside_vendor.hpp"
#include "shim/job/job.hpp"
#include "shim/job/process_models.hpp"
#include "shim/tool/tool_variables.hpp"
#include "shim/values/tool_values.hpp"
#include "wire/base/mutex.hpp"
#include "wire/peer/engine_counters.hpp"

namespace impishim::shim {

bool shows_tool_variables() {
  // Fixed at the first call, since a tool may keep the number of variables.
  static const bool asked = asks_to_join();
  return asked && vendor_depth.value() == 0;
}

ToolState& ToolState::instance() {
  // Not destroyed: a tool may call from a destructor of its own.
  static ToolState& state = *new ToolState;
  return state;
}

ToolState::ToolState()
    : indices_{ToolIndices(static_cast<int>(tool_settings().size())),
               ToolIndices(static_cast<int>(tool_statistics().size())),
               ToolIndices(static_cast<int>(tool_categories().size()))} {}

void ToolState::begin() {
  const MutexLock lock(mutex_);
  ++begun_;
}

void ToolState::end() {
  const MutexLock lock(mutex_);
  if (--begun_ > 0) return;
  settings_.clear();
  statistics_.clear();
  sessions_.clear();
}

ToolIndices ToolState::indices(ToolKind kind, int vendors) {
  const MutexLock lock(mutex_);
  ToolIndices& indices = indices_[static_cast<std::size_t>(kind)];
  indices.settle(vendors);
  return indices;
}

MPI_T_cvar_handle ToolState::make_setting_handle(int index) {
  auto made = std::make_unique<SettingHandle>(SettingHandle{index});
  const auto handle = reinterpret_cast<MPI_T_cvar_handle>(made.get());
  const MutexLock lock(mutex_);
  settings_.emplace(handle, std::move(made));
  return handle;
}

const ToolSetting* ToolState::setting_of(MPI_T_cvar_handle handle) {
  const MutexLock lock(mutex_);
  const auto found = settings_.find(handle);
  return found == settings_.end()
             ? nullptr
             : &tool_settings()[static_cast<std::size_t>(found->second->index)];
}

bool ToolState::free_setting_handle(MPI_T_cvar_handle handle) {
  const MutexLock lock(mutex_);
  return settings_.erase(handle) != 0;
}

ToolValue ToolState::value_of(const ToolSetting& setting) {
  const MutexLock lock(mutex_);
  if (kept_settings_.empty()) return read_setting(setting);
  return kept_settings_[static_cast<std::size_t>(&setting - tool_settings().data())];
}

void ToolState::add_session(MPI_T_pvar_session session) {
  const MutexLock lock(mutex_);
  sessions_.insert(session);
}

void ToolState::drop_session(MPI_T_pvar_session session) {
  const MutexLock lock(mutex_);
  sessions_.erase(session);
  std::erase_if(statistics_, [&](const auto& each) { return each.second->session == session; });
}

MPI_T_pvar_handle ToolState::make_statistic_handle(MPI_T_pvar_session session, int index) {
  const MutexLock lock(mutex_);
  if (!sessions_.contains(session)) return nullptr;
  auto made = std::make_unique<StatisticHandle>(StatisticHandle{session, index, {}});
  const auto handle = reinterpret_cast<MPI_T_pvar_handle>(made.get());
  statistics_.emplace(handle, std::move(made));
  return handle;
}

bool ToolState::is_statistic_handle(MPI_T_pvar_handle handle) {
  const MutexLock lock(mutex_);
  return statistics_.contains(handle);
}

int ToolState::act_on(StatisticHandle& handle, Action action, std::uint64_t now,
                      std::uint64_t& value) {
  const bool is_peak = tool_statistics()[static_cast<std::size_t>(handle.index)].is_peak;
  ToolCount& count = handle.count;
  const std::uint64_t current = is_peak ? now : count.value(now);
  switch (action) {
    case Action::kStart:
    case Action::kStop:
      if (is_peak) return MPI_T_ERR_PVAR_NO_STARTSTOP;
      action == Action::kStart ? count.start(now) : count.stop(now);
      return MPI_SUCCESS;
    case Action::kRead:
      value = current;
      return MPI_SUCCESS;
    case Action::kWrite:
    case Action::kReset:
    case Action::kReadReset:
      if (is_peak) return MPI_T_ERR_PVAR_NO_WRITE;
      count.set(action == Action::kWrite ? value : 0, now);
      if (action == Action::kReadReset) value = current;
      return MPI_SUCCESS;
    case Action::kFree:
      break;
  }
  return MPI_SUCCESS;
}

int ToolState::act(MPI_T_pvar_session session, MPI_T_pvar_handle handle, Action action,
                   std::uint64_t& value) {
  const MutexLock lock(mutex_);
  const auto found = statistics_.find(handle);
  if (!sessions_.contains(session)) return MPI_T_ERR_INVALID_SESSION;
  if (found == statistics_.end() || found->second->session != session)
    return MPI_T_ERR_INVALID_HANDLE;
  if (action == Action::kFree) {
    statistics_.erase(found);
    return MPI_SUCCESS;
  }
  const ToolStatistic& of = tool_statistics()[static_cast<std::size_t>(found->second->index)];
  return act_on(*found->second, action, of.value(counters()), value);
}

void ToolState::act_on_all(MPI_T_pvar_session session, Action action) {
  const MutexLock lock(mutex_);
  const wire::EngineCounters now = counters();
  std::uint64_t unused = 0;
  for (auto& [handle, statistic] : statistics_) {
    if (statistic->session != session) continue;
    const ToolStatistic& of = tool_statistics()[static_cast<std::size_t>(statistic->index)];
    // Variables that cannot be started or written are left out (MPI-4.0 15.3.7).
    static_cast<void>(act_on(*statistic, action, of.value(now), unused));
  }
}

void ToolState::keep_settings(const Job& job) {
  const MutexLock lock(mutex_);
  kept_settings_.clear();
  for (const ToolSetting& setting : tool_settings()) {
    ToolValue value = read_setting(setting);
    if (setting.agreed != nullptr) value.number = job.map.values().*setting.agreed;
    kept_settings_.push_back(std::move(value));
  }
}

void ToolState::keep_counters(Job& job) {
  const MutexLock lock(mutex_);
  kept_counters_ = job.engine->counters();
}

wire::EngineCounters ToolState::counters() const {
  // MPI_Finalize waits for the mutex before it destroys the job (keep_counters()).
  Job* job = the_job.load(std::memory_order_acquire);
  return job == nullptr ? kept_counters_ : job->engine->counters();
}

}  // namespace impishim::shim
