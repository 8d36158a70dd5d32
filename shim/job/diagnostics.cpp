// SPDX-License-Identifier: Apache-2.0
#include "shim/job/diagnostics.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>

#include "shim/job/job.hpp"
#include "wire/base/log.hpp"
#include "wire/base/output_file.hpp"
#include "wire/base/result.hpp"
#include "wire/base/variable.hpp"
#include "wire/engine/engine.hpp"
#include "wire/peer/engine_counters.hpp"

namespace impishim::shim {
namespace {

/// The number of signal handlers that are running on any thread. The job object must not be
/// destroyed before they return, so this counter cannot be part of it.
std::atomic<int> handlers{0};

void on_signal(int number, siginfo_t* info, void* context) {
  handlers.fetch_add(1);
  if (const Job* job = the_job.load(); job != nullptr) {
    job->engine->ask_for_report();
    const struct sigaction& next = job->diagnostics.vendors;
    if ((next.sa_flags & SA_SIGINFO) != 0) {
      next.sa_sigaction(number, info, context);
    } else if (next.sa_handler != SIG_DFL && next.sa_handler != SIG_IGN) {
      next.sa_handler(number);
    }
  }
  handlers.fetch_sub(1);
}

std::string json_of(const char* name, const wire::HopTraffic& traffic) {
  return fmt::format("  \"{}\": {{\"packets\": {}, \"bytes\": {}}},\n", name, traffic.packets,
                     traffic.bytes);
}

std::string statistics_of(const Job& job, const wire::EngineCounters& all) {
  std::string text = fmt::format("{{\n  \"rank\": {},\n  \"system\": {},\n", job.here, job.client);
  text += json_of("sent_local_origin", all.local_origin) +
          json_of("sent_local_relay", all.local_relay) +
          json_of("sent_remote_origin", all.remote_origin) +
          json_of("sent_remote_relay", all.remote_relay) +
          json_of("received_local", all.local_received) +
          json_of("received_remote", all.remote_received);
  text += fmt::format(
      "  \"messages_sent\": {},\n  \"messages_received\": {},\n  \"unexpected_messages\": {},\n  "
      "\"unexpected_bytes_peak\": "
      "{},\n"
      "  \"packets_relayed\": {},\n  \"relay_bytes_peak\": {},\n  \"relay_stalls\": {},\n  "
      "\"flow_control_stalls\": {},\n"
      "  \"remote_send_calls\": {},\n  \"remote_receive_calls\": {}\n}}\n",
      all.messages_sent, all.messages_received, all.unexpected_messages, all.unexpected_bytes_peak,
      all.packets_relayed, all.relay_bytes_peak, all.relay_stalls, all.flow_control_stalls,
      all.send_calls, all.receive_calls);
  return text;
}

}  // namespace

Result<Diagnostics> Diagnostics::from_environment() {
  constexpr int kDay = 86400;
  Diagnostics diagnostics;
  auto stand = read_variable("IMPISHIM_TEST_STALL_SECONDS", 1, kDay, diagnostics.stand_seconds);
  if (!stand) return stand.error();
  auto stall = read_variable("IMPISHIM_STALL_DUMP", 0, kDay, diagnostics.stall_seconds);
  if (!stall) return stall.error();
  if (const char* text = secure_getenv("IMPISHIM_STATS"); text != nullptr)
    diagnostics.stats_prefix = text;
  if (const char* text = secure_getenv("IMPISHIM_DUMP_SIGNAL"); text != nullptr) {
    diagnostics.on_signal = std::strcmp(text, "usr1") == 0;
    if (!diagnostics.on_signal && std::strcmp(text, "none") != 0) {
      return Error{ErrorKind::kConfiguration,
                   fmt::format("IMPISHIM_DUMP_SIGNAL={}: use usr1 (default) or none", text)};
    }
  }
  return diagnostics;
}

bool signal_is_free() {
  struct sigaction now {};
  return sigaction(SIGUSR1, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 &&
         now.sa_handler == SIG_DFL;
}

void answer_signals(Job& job) {
  if (!job.diagnostics.on_signal) return;
  sigaction(SIGUSR1, nullptr,
            &job.diagnostics.vendors);  // first, since a signal may come at any moment
  struct sigaction ours {};
  ours.sa_sigaction = on_signal;
  ours.sa_flags = SA_RESTART | SA_SIGINFO;
  sigemptyset(&ours.sa_mask);
  sigaction(SIGUSR1, &ours, nullptr);
}

void restore_signal(const Diagnostics& diagnostics) {
  struct sigaction now {};
  const bool ours = sigaction(SIGUSR1, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 &&
                    now.sa_sigaction == on_signal;
  if (ours) sigaction(SIGUSR1, &diagnostics.vendors, nullptr);
}

void stop_answering(const Diagnostics& diagnostics) {
  restore_signal(diagnostics);
  while (handlers.load() != 0) {  // another thread is in the last steps of a handler
  }
}

void write_statistics(Job& job) {
  if (job.diagnostics.stats_prefix.empty()) return;
  const std::string path = fmt::format("{}.{}.json", job.diagnostics.stats_prefix, job.here);
  auto written = write_file(path, statistics_of(job, job.engine->counters()));
  // The user has requested the statistics, so this warning is printed at every log level.
  if (!written)
    log_line(LogArea::kShim, LogLevel::kWarn,
             fmt::format("cannot write the statistics to {} (IMPISHIM_STATS): {}", path,
                         written.error().text));
}

}  // namespace impishim::shim
