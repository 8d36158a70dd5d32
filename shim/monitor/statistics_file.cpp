// SPDX-License-Identifier: Apache-2.0
#include "shim/monitor/statistics_file.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include "shim/entry_points.hpp"
#include "shim/job/job.hpp"
#include "shim/monitor/call_timer.hpp"
#include "shim/monitor/job_name.hpp"
#include "shim/vendor.hpp"
#include "wire/base/log.hpp"
#include "wire/base/node_name.hpp"
#include "wire/base/output_file.hpp"
#include "wire/engine/engine.hpp"
#include "wire/peer/engine_counters.hpp"
#include "wire/statistics/call_scope.hpp"
#include "wire/statistics/call_statistics.hpp"
#include "wire/statistics/process_statistics.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::shim {
namespace {

/// Returns the first line of what the vendor's library says about itself.
std::string name_of_library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  if (vendor::Get_library_version(text.data(), &length) != MPI_SUCCESS) return {};
  std::string line(text.data());
  line.resize(std::min(line.find('\n'), line.size()));
  std::ranges::replace(line, '\t', ' ');
  return line;
}

wire::PacketTraffic packets_of(const wire::HopTraffic& traffic) {
  return {traffic.packets, traffic.bytes};
}

void add_engine(wire::ProcessStatistics& statistics, const Job& job) {
  const wire::EngineCounters all = job.engine->counters();
  statistics.hops = {{"sent_local_origin", packets_of(all.local_origin)},
                     {"sent_local_relay", packets_of(all.local_relay)},
                     {"sent_remote_origin", packets_of(all.remote_origin)},
                     {"sent_remote_relay", packets_of(all.remote_relay)},
                     {"received_local", packets_of(all.local_received)},
                     {"received_remote", packets_of(all.remote_received)}};
  statistics.counters = {{"messages_sent", all.messages_sent},
                         {"messages_received", all.messages_received},
                         {"payload_bytes_sent", all.payload_bytes_sent},
                         {"payload_bytes_received", all.payload_bytes_received},
                         {"unexpected_messages", all.unexpected_messages},
                         {"unexpected_bytes_peak", all.unexpected_bytes_peak},
                         {"packets_relayed", all.packets_relayed},
                         {"relay_bytes_peak", all.relay_bytes_peak},
                         {"relay_stalls", all.relay_stalls},
                         {"flow_control_stalls", all.flow_control_stalls},
                         {"remote_send_calls", all.send_calls},
                         {"remote_receive_calls", all.receive_calls}};
  statistics.batch_bytes[wire::index_of(wire::CallScope::kInside)] = all.local_batches;
  statistics.batch_bytes[wire::index_of(wire::CallScope::kBetween)] = all.remote_batches;
  statistics.answer_ns = all.answers;
  for (const wire::ClientTraffic& each : job.engine->load().clients)
    statistics.systems.push_back({each.client, packets_of(each.sent), packets_of(each.received)});
}

void add_calls(wire::ProcessStatistics& statistics, const CallTimer& timer) {
  wire::CallSums sums = timer.sums();
  for (std::size_t i = 0; i < sums.functions.size(); ++i) {
    const wire::ByScope<wire::CallTime>& scopes = sums.functions[i];
    if (std::ranges::any_of(scopes, [](const wire::CallTime& each) { return each.calls > 0; }))
      statistics.functions.push_back({kFunctionNames[i], scopes});
  }
  statistics.began_us = timer.began_us();
  statistics.elapsed_ns = timer.now_ns();
  statistics.waited_ns = std::move(sums.waited_ns);
  statistics.sent = std::move(sums.sent);
  statistics.message_bytes = sums.message_bytes;
  statistics.bin_ns = sums.time_line.width_ns();
  statistics.time_line = sums.time_line.bins();
}

}  // namespace

void write_statistics(Job& job, const CallTimer* timer) {
  if (job.diagnostics.stats_prefix.empty()) return;
  wire::ProcessStatistics statistics;
  statistics.job = name_of_job(job.map.at_start());
  statistics.rank = job.here;
  statistics.size = job.map.at_start().size();
  statistics.system = job.client;
  statistics.host = node_name();
  statistics.library = name_of_library();
  statistics.bin_ns = wire::TimeLine::kFirstWidth;
  add_engine(statistics, job);
  if (timer != nullptr) add_calls(statistics, *timer);
  const std::string path = fmt::format("{}.{}.json", job.diagnostics.stats_prefix, job.here);
  auto written = write_file(path, wire::json_text(statistics));
  // The user has requested the statistics, so this warning is printed at every log level.
  if (!written)
    log_line(LogArea::kShim, LogLevel::kWarn,
             fmt::format("cannot write the statistics to {} (IMPISHIM_STATS): {}", path,
                         written.error().text));
}

}  // namespace impishim::shim
