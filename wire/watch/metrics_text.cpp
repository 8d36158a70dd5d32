// SPDX-License-Identifier: Apache-2.0
#include "wire/watch/metrics_text.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "wire/monitor/process_state.hpp"
#include "wire/watch/monitor_session.hpp"
#include "wire/watch/wait_graph.hpp"

namespace impishim::wire {
namespace {

/// A number of each process.
struct ProcessFamily {
  const char* name;
  const char* help;
  std::uint64_t ProcessCounters::*value;
};

constexpr ProcessFamily kFamilies[] = {
    {"impishim_messages_sent_total", "Messages sent to other systems.",
     &ProcessCounters::messages_sent},
    {"impishim_messages_received_total", "Messages received from other systems.",
     &ProcessCounters::messages_received},
    {"impishim_sent_bytes_total", "Payload of messages sent to other systems.",
     &ProcessCounters::sent_bytes},
    {"impishim_received_bytes_total", "Payload of messages received from other systems.",
     &ProcessCounters::received_bytes},
    {"impishim_flow_control_stalls_total", "Messages that waited for acknowledgements.",
     &ProcessCounters::flow_control_stalls},
    {"impishim_relay_stalls_total", "Packets that waited for credit of a relay.",
     &ProcessCounters::relay_stalls},
    {"impishim_relayed_packets_total", "Packets passed on for other processes.",
     &ProcessCounters::packets_relayed},
    {"impishim_posted_receives", "Receives that wait for a message.",
     &ProcessCounters::posted_receives},
    {"impishim_pending_sends", "Sends that are not complete.", &ProcessCounters::pending_sends},
    {"impishim_unexpected_messages", "Messages that wait for a receive.",
     &ProcessCounters::unexpected_messages},
    {"impishim_unexpected_bytes", "Payload of messages that wait for a receive.",
     &ProcessCounters::unexpected_bytes},
    {"impishim_queued_packets", "Packets that connections have not taken yet.",
     &ProcessCounters::queued_packets},
    {"impishim_held_packets", "Packets that wait for credit.", &ProcessCounters::held_packets},
    {"impishim_relay_held_bytes", "Bytes held to be passed on.", &ProcessCounters::relay_bytes},
    {"impishim_resident_memory_bytes", "Resident memory of the process.",
     &ProcessCounters::resident_bytes},
};

/// A number of each pair of systems, over the connections of one process.
struct PairFamily {
  const char* name;
  const char* help;
  std::uint64_t SystemTraffic::*value;
};

constexpr PairFamily kPairFamilies[] = {
    {"impishim_connection_sent_bytes_total", "Bytes sent to hosts of a system, with headers.",
     &SystemTraffic::sent_bytes},
    {"impishim_connection_received_bytes_total",
     "Bytes received from hosts of a system, with headers.", &SystemTraffic::received_bytes},
    {"impishim_connection_sent_packets_total", "Packets sent to hosts of a system.",
     &SystemTraffic::sent_packets},
    {"impishim_connection_received_packets_total", "Packets received from hosts of a system.",
     &SystemTraffic::received_packets},
};

std::string head_of(std::string_view name, std::string_view help) {
  return fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name,
                     name.ends_with("_total") ? "counter" : "gauge");
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\' || c == '"') result += '\\';
    if (c == '\n')
      result += "\\n";
    else
      result += c;
  }
  return result;
}

std::string labels_of(const ProcessState& process) {
  return fmt::format("rank=\"{}\",system=\"{}\",host=\"{}\"", process.rank, process.system,
                     escaped(process.host));
}

std::string waits_text(const JobState& state) {
  std::string text = head_of("impishim_wait_seconds",
                             "Age of the call that the process waits in; 0 if it is in none.");
  constexpr double kMilliseconds = 1000;
  for (const ProcessState& process : state.processes) {
    const MonitoredCall* call = waiting_call(process);
    text += fmt::format("impishim_wait_seconds{{{}}} {}\n", labels_of(process),
                        call == nullptr ? 0 : static_cast<double>(call->age_ms) / kMilliseconds);
  }
  return text;
}

}  // namespace

std::string metrics_text(const JobState& state) {
  std::string text = head_of("impishim_processes", "Processes of the job.");
  text += fmt::format("impishim_processes {}\n", state.size);
  text += head_of("impishim_answering_processes", "Processes that have answered.");
  text += fmt::format("impishim_answering_processes {}\n", state.processes.size());
  for (const ProcessFamily& family : kFamilies) {
    text += head_of(family.name, family.help);
    for (const ProcessState& process : state.processes) {
      if (process.counters)
        text += fmt::format("{}{{{}}} {}\n", family.name, labels_of(process),
                            (*process.counters).*family.value);
    }
  }
  for (const PairFamily& family : kPairFamilies) {
    text += head_of(family.name, family.help);
    for (const ProcessState& process : state.processes) {
      if (!process.counters) continue;
      for (const SystemTraffic& each : process.counters->systems)
        text += fmt::format("{}{{{},peer_system=\"{}\"}} {}\n", family.name, labels_of(process),
                            each.system, each.*family.value);
    }
  }
  return text + waits_text(state);
}

}  // namespace impishim::wire
