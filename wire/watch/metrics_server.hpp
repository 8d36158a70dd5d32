// SPDX-License-Identifier: Apache-2.0
/// The HTTP server of IMPISHIM_METRICS: Prometheus reads the numbers of a job from it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/accept_rest.hpp"
#include "wire/watch/monitor_session.hpp"

namespace impishim::wire {

/// Where the server listens.
struct MetricsPlace {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;
  /// Reads "9400" or "address:9400", the value of IMPISHIM_METRICS. Fails with kConfiguration.
  [[nodiscard]] static Result<MetricsPlace> parse(const std::string& text);
};

class MetricsServer {
 public:
  /// Returns the state that a request asks for.
  using Ask = std::function<Result<JobState>()>;
  /// Connections at the same time, and how long each may last.
  static constexpr std::size_t kMostConnections = 32;
  static constexpr std::chrono::seconds kTimeLimit{5};

  /// Fails with kSystem if the port is in use, or kConfiguration if there is no such address.
  [[nodiscard]] static Result<MetricsServer> open(const MetricsPlace& place);
  /// Returns where the numbers are.
  [[nodiscard]] const std::string& url() const { return url_; }
  /// Answers requests until `stop` becomes readable. Fails with kSystem.
  [[nodiscard]] Result<void> serve(const Ask& ask, int stop);

 private:
  using Clock = std::chrono::steady_clock;
  struct Connection {
    Descriptor socket;
    Clock::time_point until;
    std::string input;
    std::string output;  ///< not empty once the request is complete
  };

  MetricsServer() = default;
  void accept_one();
  [[nodiscard]] int poll_timeout() const;
  /// Returns false if the connection is over.
  [[nodiscard]] bool read_from(Connection& connection, const Ask& ask);
  [[nodiscard]] static bool write_to(Connection& connection);

  Descriptor listener_;
  AcceptRest rest_;
  std::string url_;
  std::map<int, Connection> connections_;  ///< by descriptor
};

}  // namespace impishim::wire
