// SPDX-License-Identifier: Apache-2.0
#include "wire/watch/metrics_service.hpp"

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "wire/base/descriptor.hpp"
#include "wire/base/log.hpp"
#include "wire/base/quiet_thread.hpp"
#include "wire/base/result.hpp"
#include "wire/monitor/monitor_message.hpp"
#include "wire/startup/authentication.hpp"
#include "wire/watch/metrics_server.hpp"
#include "wire/watch/monitor_session.hpp"

namespace impishim::wire {

Result<std::unique_ptr<MetricsService>> MetricsService::from_environment() {
  const char* text = secure_getenv("IMPISHIM_METRICS");
  if (text == nullptr) return std::unique_ptr<MetricsService>();
  auto place = MetricsPlace::parse(text);
  if (!place) return place.error();
  auto server = MetricsServer::open(*place);
  if (!server) return server.error();
  return std::unique_ptr<MetricsService>(new MetricsService(std::move(*server)));
}

Result<void> MetricsService::start(const std::string& server,
                                   const AuthenticationMethods& methods) {
  stop_ = Descriptor(eventfd(0, EFD_CLOEXEC));
  if (!stop_.valid())
    return Error{ErrorKind::kSystem, fmt::format("eventfd: {}", std::strerror(errno))};
  thread_ = quiet_thread("metrics", [this, session = MonitorSession(server, methods)]() mutable {
    auto served = listening_.serve([&session] { return session.ask(kWantsAll); }, stop_.get());
    if (!served)
      log(LogArea::kStartup, LogLevel::kError, "metrics (IMPISHIM_METRICS): {}",
          served.error().text);
  });
  return {};
}

MetricsService::~MetricsService() {
  if (!thread_.joinable()) return;
  eventfd_write(stop_.get(), 1);
  thread_.join();
}

}  // namespace impishim::wire
