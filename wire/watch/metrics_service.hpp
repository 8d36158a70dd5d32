// SPDX-License-Identifier: Apache-2.0
/// The numbers of a job for Prometheus, served beside the job's rendezvous server
/// (IMPISHIM_METRICS).
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/startup/authentication.hpp"
#include "wire/watch/metrics_server.hpp"

namespace impishim::wire {

class MetricsService {
 public:
  /// Listens where IMPISHIM_METRICS says. Returns null if it is not set. Fails with kConfiguration
  /// for a wrong value, and with kSystem if the port is in use.
  [[nodiscard]] static Result<std::unique_ptr<MetricsService>> from_environment();
  MetricsService(const MetricsService&) = delete;
  MetricsService& operator=(const MetricsService&) = delete;
  /// Waits for an answer that is being made. It comes at once when the rendezvous server has been
  /// closed before.
  ~MetricsService();

  [[nodiscard]] const std::string& url() const { return listening_.url(); }
  /// Answers requests in a thread of its own, by asking the rendezvous server at `server`. To be
  /// called once, in the process that serves.
  [[nodiscard]] Result<void> start(const std::string& server, const AuthenticationMethods& methods);

 private:
  explicit MetricsService(MetricsServer listening) : listening_(std::move(listening)) {}

  MetricsServer listening_;
  Descriptor stop_;  ///< readable when the thread is to end
  std::thread thread_;
};

}  // namespace impishim::wire
