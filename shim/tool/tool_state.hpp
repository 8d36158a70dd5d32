// SPDX-License-Identifier: Apache-2.0
/// The state of the tool information interface. It is not a part of the job, since tools may use
/// the interface before MPI_Init and after MPI_Finalize (MPI-4.0 15.3.4).
#pragma once

#include <mpi.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "shim/job/job.hpp"
#include "shim/tool/tool_variables.hpp"
#include "shim/values/tool_values.hpp"
#include "wire/base/mutex.hpp"
#include "wire/peer/engine_counters.hpp"

namespace impishim::shim {

enum class ToolKind : std::uint8_t { kSetting, kStatistic, kCategory };

/// Returns true if a call of the tool information interface shows this library's variables: the
/// environment asks for a joined job, and the call does not come from inside the vendor.
[[nodiscard]] bool shows_tool_variables();

/// A tool's handle of one of this library's performance variables.
struct StatisticHandle {
  MPI_T_pvar_session session;
  int index;  ///< of the statistic
  ToolCount count;
};

/// A tool's handle of one of this library's control variables.
struct SettingHandle {
  int index;  ///< of the setting
};

/// All calls lock it; no function blocks otherwise.
class ToolState {
 public:
  static ToolState& instance();

  /// Counts the calls of MPI_T_init_thread and MPI_T_finalize that the vendor accepted. After the
  /// last MPI_T_finalize all handles are gone.
  void begin() IMPISHIM_EXCLUDES(mutex_);
  void end() IMPISHIM_EXCLUDES(mutex_);

  /// Returns what an index means, given the vendor's number of variables of the kind.
  [[nodiscard]] ToolIndices indices(ToolKind kind, int vendors) IMPISHIM_EXCLUDES(mutex_);

  [[nodiscard]] MPI_T_cvar_handle make_setting_handle(int index) IMPISHIM_EXCLUDES(mutex_);
  /// Returns the setting behind a handle, or null if the handle is none of this library's.
  [[nodiscard]] const ToolSetting* setting_of(MPI_T_cvar_handle handle) IMPISHIM_EXCLUDES(mutex_);
  /// Returns false if the handle is none of this library's.
  [[nodiscard]] bool free_setting_handle(MPI_T_cvar_handle handle) IMPISHIM_EXCLUDES(mutex_);
  /// Returns the value of a setting: since the job has begun, the one that it began with.
  [[nodiscard]] ToolValue value_of(const ToolSetting& setting) IMPISHIM_EXCLUDES(mutex_);

  void add_session(MPI_T_pvar_session session) IMPISHIM_EXCLUDES(mutex_);
  /// Frees this library's handles of a session.
  void drop_session(MPI_T_pvar_session session) IMPISHIM_EXCLUDES(mutex_);
  /// Returns null if there is no such session.
  [[nodiscard]] MPI_T_pvar_handle make_statistic_handle(MPI_T_pvar_session session, int index)
      IMPISHIM_EXCLUDES(mutex_);
  [[nodiscard]] bool is_statistic_handle(MPI_T_pvar_handle handle) IMPISHIM_EXCLUDES(mutex_);

  /// What a tool does with a performance variable.
  enum class Action : std::uint8_t { kStart, kStop, kRead, kWrite, kReset, kReadReset, kFree };
  /// Acts on one of this library's handles. Reads into `value`, or writes it. Returns a code of
  /// MPI_T.
  [[nodiscard]] int act(MPI_T_pvar_session session, MPI_T_pvar_handle handle, Action action,
                        std::uint64_t& value) IMPISHIM_EXCLUDES(mutex_);
  /// Starts, stops or resets all of this library's handles of a session that can be.
  void act_on_all(MPI_T_pvar_session session, Action action) IMPISHIM_EXCLUDES(mutex_);

  /// Keeps the settings with which a job begins, and its counters when it ends.
  void keep_settings(const Job& job) IMPISHIM_EXCLUDES(mutex_);
  /// Must be called when the_job is null again, and before the job is destroyed.
  void keep_counters(Job& job) IMPISHIM_EXCLUDES(mutex_);

 private:
  ToolState();
  [[nodiscard]] wire::EngineCounters counters() const IMPISHIM_REQUIRES(mutex_);
  static int act_on(StatisticHandle& handle, Action action, std::uint64_t now,
                    std::uint64_t& value);

  Mutex mutex_;
  int begun_ IMPISHIM_GUARDED_BY(mutex_) = 0;
  std::vector<ToolIndices> indices_ IMPISHIM_GUARDED_BY(mutex_);  ///< by ToolKind
  std::map<MPI_T_cvar_handle, std::unique_ptr<SettingHandle>> settings_ IMPISHIM_GUARDED_BY(mutex_);
  std::map<MPI_T_pvar_handle, std::unique_ptr<StatisticHandle>> statistics_
      IMPISHIM_GUARDED_BY(mutex_);
  std::set<MPI_T_pvar_session> sessions_ IMPISHIM_GUARDED_BY(mutex_);
  std::vector<ToolValue> kept_settings_ IMPISHIM_GUARDED_BY(mutex_);  ///< empty before the job
  wire::EngineCounters kept_counters_ IMPISHIM_GUARDED_BY(mutex_);
};

}  // namespace impishim::shim
