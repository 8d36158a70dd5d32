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
#include "wire/base/result.hpp"
#include "wire/base/variable.hpp"
#include "wire/engine/engine.hpp"
#include "wire/trace/trace_settings.hpp"

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
  auto trace = wire::TraceSettings::from_environment();
  if (!trace) return trace.error();
  diagnostics.trace = *trace;
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

}  // namespace impishim::shim
