// SPDX-License-Identifier: Apache-2.0
#include "wire/watch/top_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/monitor/process_state.hpp"
#include "wire/watch/monitor_session.hpp"
#include "wire/watch/wait_graph.hpp"

namespace impishim::wire {
namespace {

/// Returns the growth for each second. A counter that is smaller than before belongs to a process
/// that began anew.
double rate(std::uint64_t before, std::uint64_t now, double seconds) {
  return now < before || seconds <= 0 ? 0 : static_cast<double>(now - before) / seconds;
}

/// Returns a number of at most five characters, as 17, 1.2k or 345M.
std::string short_number(double value) {
  constexpr std::array kUnits = {"", "k", "M", "G", "T", "P", "E"};
  constexpr double kStep = 1000;
  std::size_t unit = 0;
  for (; value >= kStep && unit + 1 < kUnits.size(); ++unit) value /= kStep;
  constexpr double kOneDigit = 10;
  const bool fraction = value < kOneDigit && (unit > 0 || (value > 0 && value < 1));
  return fraction ? fmt::format("{:.1f}{}", value, kUnits[unit])
                  : fmt::format("{:.0f}{}", value, kUnits[unit]);
}

std::string short_number(std::uint64_t value) { return short_number(static_cast<double>(value)); }

std::string seconds_text(std::uint64_t ms) {
  constexpr double kSecond = 1000;
  return fmt::format("{:.1f} s", static_cast<double>(ms) / kSecond);
}

std::set<std::int32_t> systems_of(const JobState& state) {
  std::set<std::int32_t> systems;
  for (const ProcessState& process : state.processes) {
    systems.insert(process.system);
    if (!process.counters) continue;
    for (const SystemTraffic& each : process.counters->systems) systems.insert(each.system);
  }
  return systems;
}

/// Returns the lines of a table of systems: from those of the rows to those of the columns.
std::vector<std::string> pair_lines(const JobState& state, const JobRates& rates) {
  const auto systems = systems_of(state);
  std::string head = "bytes/s  ";
  for (const std::int32_t to : systems) head += fmt::format("{:>9}", fmt::format("to {}", to));
  std::vector<std::string> lines = {std::move(head)};
  for (const std::int32_t from : systems) {
    std::string line = fmt::format("{:<9}", fmt::format("from {}", from));
    for (const std::int32_t to : systems) {
      const auto found = rates.pairs.find({from, to});
      const std::string text =
          from == to ? "-" : short_number(found == rates.pairs.end() ? 0 : found->second.bytes);
      line += fmt::format("{:>9}", text);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string call_text(const ProcessState& process) {
  const MonitoredCall* call = waiting_call(process);
  return call == nullptr ? "" : seconds_text(call->age_ms) + " in " + describe(process, *call);
}

constexpr const char* kRow =
    "{:>5} {:>3} {:<12} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>7} {:>6} {:>6}  {}";

std::string process_line(const ProcessState& process, const JobRates& rates) {
  const auto found = rates.processes.find(process.rank);
  const ProcessRate own = found == rates.processes.end() ? ProcessRate() : found->second;
  const ProcessCounters counters = process.counters.value_or(ProcessCounters());
  return fmt::format(fmt::runtime(kRow), process.rank, process.system, process.host.substr(0, 12),
                     short_number(own.sent_bytes), short_number(own.received_bytes),
                     short_number(counters.queued_packets + counters.held_packets),
                     short_number(counters.pending_sends), short_number(counters.posted_receives),
                     short_number(counters.unexpected_messages), short_number(own.stalls),
                     short_number(counters.relay_bytes), short_number(counters.resident_bytes),
                     call_text(process));
}

nlohmann::json counters_json(const ProcessCounters& counters) {
  return {{"messages_sent", counters.messages_sent},
          {"messages_received", counters.messages_received},
          {"sent_bytes", counters.sent_bytes},
          {"received_bytes", counters.received_bytes},
          {"flow_control_stalls", counters.flow_control_stalls},
          {"relay_stalls", counters.relay_stalls},
          {"packets_relayed", counters.packets_relayed},
          {"posted_receives", counters.posted_receives},
          {"pending_sends", counters.pending_sends},
          {"unexpected_messages", counters.unexpected_messages},
          {"unexpected_bytes", counters.unexpected_bytes},
          {"queued_packets", counters.queued_packets},
          {"held_packets", counters.held_packets},
          {"relay_bytes", counters.relay_bytes},
          {"resident_bytes", counters.resident_bytes}};
}

nlohmann::json process_json(const ProcessState& process, const JobRates& rates) {
  nlohmann::json json = {{"rank", process.rank},
                         {"system", process.system},
                         {"host", process.host},
                         {"process", process.process}};
  if (process.counters) json["counters"] = counters_json(*process.counters);
  if (const auto found = rates.processes.find(process.rank); found != rates.processes.end()) {
    json["messages_sent_per_second"] = found->second.messages_sent;
    json["messages_received_per_second"] = found->second.messages_received;
    json["sent_bytes_per_second"] = found->second.sent_bytes;
    json["received_bytes_per_second"] = found->second.received_bytes;
    json["stalls_per_second"] = found->second.stalls;
  }
  if (const MonitoredCall* call = waiting_call(process); call != nullptr)
    json["waits"] = {{"milliseconds", call->age_ms}, {"text", describe(process, *call)}};
  return json;
}

}  // namespace

JobRates rates_between(const Sample& before, const Sample& now) {
  const double seconds = std::chrono::duration<double>(now.at - before.at).count();
  JobRates rates;
  for (const ProcessState& process : now.state.processes) {
    const auto earlier =
        std::ranges::find(before.state.processes, process.rank, &ProcessState::rank);
    if (earlier == before.state.processes.end() || !earlier->counters || !process.counters)
      continue;
    const ProcessCounters& a = *earlier->counters;
    const ProcessCounters& b = *process.counters;
    rates.processes[process.rank] = {rate(a.messages_sent, b.messages_sent, seconds),
                                     rate(a.messages_received, b.messages_received, seconds),
                                     rate(a.sent_bytes, b.sent_bytes, seconds),
                                     rate(a.received_bytes, b.received_bytes, seconds),
                                     rate(a.flow_control_stalls, b.flow_control_stalls, seconds) +
                                         rate(a.relay_stalls, b.relay_stalls, seconds)};
    for (const SystemTraffic& each : b.systems) {
      const auto same = std::ranges::find(a.systems, each.system, &SystemTraffic::system);
      const SystemTraffic first = same == a.systems.end() ? SystemTraffic() : *same;
      PairRate& pair = rates.pairs[{process.system, each.system}];
      pair.bytes += rate(first.sent_bytes, each.sent_bytes, seconds);
      pair.packets += rate(first.sent_packets, each.sent_packets, seconds);
    }
  }
  return rates;
}

std::vector<std::string> top_lines(const std::string& name, const JobState& state,
                                   const JobRates& rates) {
  std::vector<std::string> lines = {fmt::format("impishim {}: {} of {} processes in {} systems",
                                                name, state.processes.size(), state.size,
                                                systems_of(state).size())};
  if (state.size == 0)
    lines.emplace_back("no process can be asked: set IMPISHIM_MONITOR=on for all systems");
  if (!state.silent.empty())
    lines.push_back("no answer from " + rank_text(rank_list(state.silent)));
  lines.emplace_back();
  for (std::string& line : pair_lines(state, rates)) lines.push_back(std::move(line));
  lines.emplace_back();
  lines.push_back(fmt::format(fmt::runtime(kRow), "rank", "sys", "host", "out/s", "in/s", "queued",
                              "sends", "posted", "unexp", "stall/s", "relay", "memory", "waits"));
  for (const ProcessState& process : state.processes) lines.push_back(process_line(process, rates));
  return lines;
}

std::string top_json(const JobState& state, const JobRates& rates) {
  nlohmann::json processes = nlohmann::json::array();
  for (const ProcessState& each : state.processes) processes.push_back(process_json(each, rates));
  nlohmann::json pairs = nlohmann::json::array();
  for (const auto& [pair, each] : rates.pairs)
    pairs.push_back({{"from", pair.first},
                     {"to", pair.second},
                     {"bytes_per_second", each.bytes},
                     {"packets_per_second", each.packets}});
  const nlohmann::json all = {{"size", state.size},
                              {"silent", state.silent},
                              {"unwatched", state.unwatched},
                              {"pairs", std::move(pairs)},
                              {"processes", std::move(processes)}};
  return all.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string screen_update(const std::vector<std::string>& lines, std::size_t rows,
                          std::size_t columns) {
  constexpr std::string_view kHome = "\x1b[H";
  constexpr std::string_view kClearRest = "\x1b[K";
  constexpr std::string_view kClearBelow = "\x1b[J";
  std::string text(kHome);
  const std::size_t count = std::min(lines.size(), rows);
  for (std::size_t i = 0; i < count; ++i) {
    // Names of hosts and communicators are printable, but may have characters of several bytes.
    std::size_t end = std::min(lines[i].size(), columns);
    while (end > 0 && end < lines[i].size() && (lines[i][end] & '\xc0') == '\x80') --end;
    text += lines[i].substr(0, end);
    text += kClearRest;
    if (i + 1 < count) text += "\r\n";
  }
  text += kClearBelow;
  return text;
}

}  // namespace impishim::wire
