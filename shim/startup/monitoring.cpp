// SPDX-License-Identifier: Apache-2.0
#include "shim/startup/monitoring.hpp"

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>

#include "shim/job/job.hpp"
#include "shim/monitor/call_timer.hpp"
#include "shim/monitor/observed_call.hpp"
#include "shim/monitor/recorder.hpp"
#include "shim/startup/session.hpp"
#include "wire/base/node_name.hpp"
#include "wire/engine/engine.hpp"
#include "wire/monitor/monitor_message.hpp"
#include "wire/monitor/process_state.hpp"
#include "wire/peer/engine_counters.hpp"
#include "wire/topology/job_map.hpp"
#include "wire/watch/monitor_thread.hpp"

namespace impishim::shim {
namespace {

/// Returns the memory of this process that is resident; 0 if the kernel does not tell.
std::uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t total = 0;
  std::uint64_t resident = 0;
  file >> total >> resident;
  return file ? resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) : 0;
}

wire::ProcessCounters counters_of(Job& job) {
  const wire::EngineCounters all = job.engine->counters();
  const wire::EngineLoad load = job.engine->load();
  wire::ProcessCounters counters;
  counters.messages_sent = all.messages_sent;
  counters.messages_received = all.messages_received;
  counters.sent_bytes = all.payload_bytes_sent;
  counters.received_bytes = all.payload_bytes_received;
  counters.flow_control_stalls = all.flow_control_stalls;
  counters.relay_stalls = all.relay_stalls;
  counters.packets_relayed = all.packets_relayed;
  counters.posted_receives = load.posted_receives;
  counters.pending_sends = load.pending_sends;
  counters.unexpected_messages = load.unexpected_messages;
  counters.unexpected_bytes = load.unexpected_bytes;
  counters.queued_packets = load.queued_packets;
  counters.held_packets = load.held_packets;
  counters.relay_bytes = all.relay_bytes;
  counters.resident_bytes = resident_bytes();
  const auto clients = static_cast<std::int32_t>(job.map.at_start().clients().size());
  for (const wire::ClientTraffic& each : load.clients) {
    if (each.client >= clients) continue;  // of another job
    counters.systems.push_back({each.client, each.sent.packets, each.sent.bytes,
                                each.received.packets, each.received.bytes});
  }
  return counters;
}

wire::ProcessState state_of(Job& job, Recorder& recorder, std::uint32_t wants) {
  wire::ProcessState state;
  state.rank = job.here;
  state.system = job.client;
  state.process = static_cast<std::uint32_t>(getpid());
  state.host = node_name();
  if ((wants & wire::kWantsCalls) != 0) recorder.describe(state);
  if ((wants & wire::kWantsCounters) != 0) state.counters = counters_of(job);
  return state;
}

/// Returns a new timer, which lives as long as the process, as the recorder does; null if no
/// statistics are requested.
CallTimer* new_timer(const Job& job) {
  if (job.diagnostics.stats_prefix.empty()) return nullptr;
  return new CallTimer(job.map.at_start(),  // NOLINT(cppcoreguidelines-owning-memory)
                       job.client);
}

/// Returns a new recorder. It lives as long as the process: threads may be in calls that they
/// record, also in MPI_Finalize.
Recorder& new_recorder(Job& job, bool answers, CallTimer* timer) {
  return *new Recorder(job, answers, timer);  // NOLINT(cppcoreguidelines-owning-memory)
}

void start_answering(Job& job, Recorder& recorder, const std::string& server) {
  const wire::MonitorHello hello{job.client, job.here, job.map.at_start().size()};
  job.monitor = std::make_shared<wire::MonitorThread>(
      server, hello,
      [&job, &recorder](std::uint32_t wants) { return state_of(job, recorder, wants); });
}

}  // namespace

void start_monitoring(Job& job, const JobSettings& settings) {
  CallTimer* const timer = new_timer(job);
  if (!settings.monitor && timer == nullptr && job.trace == nullptr) return;
  Recorder& recorder = new_recorder(job, settings.monitor, timer);
  if (settings.monitor) start_answering(job, recorder, settings.server);
  the_recorder.store(&recorder, std::memory_order_release);
}

void stop_monitoring(Job& job) {
  the_recorder.store(nullptr, std::memory_order_release);
  job.monitor.reset();
}

}  // namespace impishim::shim
