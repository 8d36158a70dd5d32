// SPDX-License-Identifier: Apache-2.0
/// Processes of other jobs that this process has channels to.
#pragma once

#include <cstdint>
#include <vector>

#include "wire/base/mutex.hpp"

namespace impishim::shim {

struct Job;

/// The direct hosts (wire::Host::direct) whose channels are open. Thread-safe.
class ConnectedHosts {
 public:
  /// Notes hosts that the engine has been given channels to.
  void add(const std::vector<std::int32_t>& hosts);
  /// Ends the channels to hosts that are in no communicator any more. To be called when a
  /// communicator has ended; costs nothing if no job is connected.
  void release_unused(Job& job);

 private:
  Mutex mutex_;
  std::vector<std::int32_t> hosts_ IMPISHIM_GUARDED_BY(mutex_);
};

}  // namespace impishim::shim
