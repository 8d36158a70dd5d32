// SPDX-License-Identifier: Apache-2.0
#include "wire/watch/watch_command.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"
#include "wire/channel/address.hpp"
#include "wire/monitor/monitor_message.hpp"
#include "wire/process/process.hpp"
#include "wire/startup/authentication.hpp"
#include "wire/watch/metrics_server.hpp"
#include "wire/watch/monitor_session.hpp"
#include "wire/watch/top_report.hpp"
#include "wire/watch/top_screen.hpp"
#include "wire/watch/wait_graph.hpp"
#include "wire/watch/why_report.hpp"

namespace impishim::wire {
namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;
constexpr std::chrono::seconds kInterval{1};

int complain(const Error& error, int status) {
  fmt::print(stderr, "impirun: {}\n", error.text);
  return status;
}

int print_all(const std::string& text) {
  if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return 0;
  return complain(
      {ErrorKind::kSystem, fmt::format("cannot write standard output: {}", std::strerror(errno))},
      kFailed);
}

int run_why(const WatchOptions& options, MonitorSession session) {
  auto state = session.ask(kWantsCalls);
  if (!state) return complain(state.error(), kFailed);
  const WaitFindings findings = find_stuck(*state);
  const int printed =
      print_all(options.json ? why_json(*state, findings) : why_text(*state, findings));
  if (printed != 0) return printed;
  if (state->processes.empty()) return kFailed;
  return findings.stuck() ? kStuckStatus : 0;
}

Result<Sample> take_sample(MonitorSession& session) {
  auto state = session.ask(kWantsAll);
  if (!state) return state.error();
  return Sample{std::chrono::steady_clock::now(), std::move(*state)};
}

/// Prints the rates of one interval.
int run_top_once(const WatchOptions& options, MonitorSession session) {
  auto before = take_sample(session);
  if (!before) return complain(before.error(), kFailed);
  std::this_thread::sleep_for(kInterval);
  auto now = take_sample(session);
  if (!now) return complain(now.error(), kFailed);
  const JobRates rates = rates_between(*before, *now);
  std::string text;
  if (options.json) {
    text = top_json(now->state, rates);
  } else {
    for (const std::string& line : top_lines(options.server, now->state, rates))
      text += line + "\n";
  }
  const int printed = print_all(text);
  return printed == 0 && now->state.processes.empty() ? kFailed : printed;
}

/// Shows the job until the user ends it, or the job has ended.
int run_top(const WatchOptions& options, MonitorSession session) {
  auto before = take_sample(session);
  if (!before) return complain(before.error(), kFailed);
  std::optional<Error> failure;
  {
    auto screen = TopScreen::open();
    if (!screen) return complain(screen.error(), kUsage);
    JobRates rates;
    do {
      screen->show(top_lines(options.server, before->state, rates));
      if (screen->ended_within(kInterval)) return 0;
      auto now = take_sample(session);
      if (!now) {
        failure = now.error();
        break;
      }
      rates = rates_between(*before, *now);
      before = std::move(*now);
    } while (true);
  }
  return complain(*failure, kFailed);
}

/// Serves the job's numbers until a signal ends it.
int run_metrics(MonitorSession session) {
  const char* text = secure_getenv("IMPISHIM_METRICS");
  auto place = MetricsPlace::parse(text == nullptr ? "" : text);
  if (!place) return complain(place.error(), kUsage);
  auto server = MetricsServer::open(*place);
  if (!server) return complain(server.error(), kFailed);
  const Descriptor end = watch_signals(signals_among({SIGINT, SIGTERM, SIGHUP}));
  if (!end.valid())
    return complain({ErrorKind::kSystem, fmt::format("signalfd: {}", std::strerror(errno))},
                    kFailed);
  const int printed = print_all(server->url() + "\n");
  if (printed != 0) return printed;
  auto served = server->serve([&session] { return session.ask(kWantsAll); }, end.get());
  return served ? 0 : complain(served.error(), kFailed);
}

}  // namespace

int run_watch_command(const WatchOptions& options) {
  auto address = split_address_and_port(options.server);
  if (!address) return complain(address.error(), kUsage);
  auto methods = AuthenticationMethods::from_environment();
  if (!methods) return complain(methods.error(), kUsage);
  MonitorSession session(options.server, *methods);
  switch (options.form) {
    case WatchForm::kWhy:
      return run_why(options, std::move(session));
    case WatchForm::kMetrics:
      return run_metrics(std::move(session));
    case WatchForm::kTop:
      break;
  }
  return options.once ? run_top_once(options, std::move(session))
                      : run_top(options, std::move(session));
}

}  // namespace impishim::wire
