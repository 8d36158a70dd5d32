// SPDX-License-Identifier: Apache-2.0
/// The ports of this process, and what it knows of the jobs that it is connected with
/// (docs/dynamic-processes.md).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "shim/job/job.hpp"
#include "shim/values/rank_list.hpp"
#include "wire/base/mutex.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/channel.hpp"
#include "wire/port/group_info.hpp"
#include "wire/port/open_port.hpp"

namespace impishim::shim {

/// Thread-safe.
class ConnectedJobs {
 public:
  explicit ConnectedJobs(Job& job);
  ConnectedJobs(const ConnectedJobs&) = delete;
  ConnectedJobs& operator=(const ConnectedJobs&) = delete;
  ~ConnectedJobs();

  /// Opens a port, and returns its name. Fails as wire::OpenPort::open() does.
  [[nodiscard]] Result<std::string> open_port();
  /// Returns the open port of this name, or null. It stays open as long as the pointer is held.
  [[nodiscard]] std::shared_ptr<wire::OpenPort> port(const std::string& name);
  /// Returns false if no port of this name is open.
  bool close_port(const std::string& name);

  /// Describes this process, which listens at `port`.
  [[nodiscard]] wire::GroupMember describe(std::uint16_t port) const;
  /// Adds processes of other jobs to this one, and gives the engine the channels to them. Returns
  /// the world ranks of all `members` here, in the same order. Those without a channel are
  /// processes of this job.
  [[nodiscard]] RankList extend(const std::vector<wire::GroupMember>& members,
                                std::vector<std::unique_ptr<wire::Channel>> channels);

 private:
  Job& job_;
  const std::uint64_t job_number_;  ///< the same on all processes of this job

  Mutex mutex_;
  std::map<std::string, std::shared_ptr<wire::OpenPort>> ports_ IMPISHIM_GUARDED_BY(mutex_);

  Mutex growth_mutex_;
  /// Job and number of another job's system -> its number here.
  std::map<std::pair<std::uint64_t, std::int32_t>, std::int32_t> clients_
      IMPISHIM_GUARDED_BY(growth_mutex_);
};

/// Returns the object of this process; makes it if need be.
[[nodiscard]] ConnectedJobs& connected_jobs(Job& job);

}  // namespace impishim::shim
