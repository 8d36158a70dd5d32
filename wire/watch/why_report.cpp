// SPDX-License-Identifier: Apache-2.0
#include "wire/watch/why_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "wire/monitor/process_state.hpp"
#include "wire/watch/monitor_session.hpp"
#include "wire/watch/wait_graph.hpp"

namespace impishim::wire {
namespace {

std::string ranks_text(const RankList& ranks) {
  const bool one = ranks.size() == 1 && ranks.front().first == ranks.front().second;
  return fmt::format("{} {}", one ? "rank" : "ranks", rank_text(ranks));
}

std::string ranks_text(const std::vector<std::int32_t>& ranks) {
  return ranks_text(rank_list(ranks));
}

std::string time_text(std::uint64_t ms) {
  constexpr double kSecond = 1000;
  return fmt::format("{:.1f} s", static_cast<double>(ms) / kSecond);
}

/// Ranks whose threads do the same.
struct Alike {
  std::vector<std::int32_t> ranks;
  std::uint64_t youngest = UINT64_MAX;
  std::uint64_t oldest = 0;
};

std::string age_text(const Alike& alike) {
  const std::string low = time_text(alike.youngest);
  const std::string high = time_text(alike.oldest);
  return low == high ? low : fmt::format("{} to {}", low.substr(0, low.size() - 2), high);
}

/// Returns what each thread of each process does, in the order of the first ranks.
std::vector<std::pair<std::string, Alike>> group_alike(const JobState& state) {
  std::vector<std::pair<std::string, Alike>> lines;
  for (const ProcessState& process : state.processes) {
    for (const MonitoredCall& call : process.calls) {
      const std::string text = describe(process, call);
      auto found = std::ranges::find(lines, text, [](const auto& line) { return line.first; });
      if (found == lines.end()) found = lines.insert(lines.end(), {text, {}});
      Alike& alike = found->second;
      alike.ranks.push_back(process.rank);
      alike.youngest = std::min(alike.youngest, call.age_ms);
      alike.oldest = std::max(alike.oldest, call.age_ms);
    }
  }
  return lines;
}

std::string head_text(const JobState& state) {
  std::set<std::int32_t> systems;
  for (const ProcessState& each : state.processes) systems.insert(each.system);
  std::string text =
      fmt::format("{} of {} processes have answered, of {} {}\n", state.processes.size(),
                  state.size, systems.size(), systems.size() == 1 ? "system" : "systems");
  if (state.size == 0)
    text = "no process of a job can be asked: set IMPISHIM_MONITOR=on for all systems\n";
  if (!state.silent.empty())
    text += fmt::format("no answer from {}: stopped, or out of reach\n", ranks_text(state.silent));
  if (!state.unwatched.empty())
    text += fmt::format(
        "{} cannot be asked: ended, not started with IMPISHIM_MONITOR=on, or without a way to the "
        "server\n",
        ranks_text(state.unwatched));
  return text;
}

std::string cycle_text(const WaitCycle& cycle) {
  std::vector<std::int32_t> ranks;
  for (const WaitStep& step : cycle.steps) ranks.push_back(step.rank);
  std::string text =
      cycle.steps.size() == 1
          ? fmt::format("{}: {} waits for itself\n",
                        cycle.certain ? "deadlock" : "possible deadlock", ranks_text(ranks))
          : fmt::format("{}: {} wait for each other in a cycle\n",
                        cycle.certain ? "deadlock" : "possible deadlock", ranks_text(ranks));
  for (const WaitStep& step : cycle.steps)
    text += fmt::format("  rank {} waits for rank {}, {}\n", step.rank, step.for_rank, step.text);
  return text;
}

std::string mismatch_text(const CollectiveMismatch& mismatch) {
  std::string text;
  for (const auto& [function, ranks] : mismatch.functions)
    text += fmt::format("{}{} in {}", text.empty() ? "" : ", ", ranks_text(ranks), function);
  return fmt::format("mismatch in collective {} on {}: {}\n", mismatch.number, mismatch.group,
                     text);
}

nlohmann::json json_of(const RankList& ranks) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& [first, last] : ranks) list.push_back({first, last});
  return list;
}

nlohmann::json json_of(const ProcessState& process, const MonitoredCall& call) {
  nlohmann::json awaited = nlohmann::json::array();
  for (const Awaited& each : call.awaited) {
    constexpr const char* kKinds[] = {"receive", "send", "collective", "other"};
    const MonitoredGroup* group = group_of(process, each.group);
    nlohmann::json item = {{"kind", kKinds[static_cast<std::size_t>(each.kind)]},
                           {"function", each.function.empty() ? call.function : each.function}};
    if (group != nullptr) item["communicator"] = group->name;
    if (each.kind == AwaitedKind::kReceive || each.kind == AwaitedKind::kSend) {
      item["rank"] = each.peer == kAnyPeer ? nlohmann::json() : nlohmann::json(each.peer);
      item["tag"] = each.tag < 0 ? nlohmann::json() : nlohmann::json(each.tag);
    }
    if (each.kind == AwaitedKind::kCollective) item["number"] = each.number;
    awaited.push_back(std::move(item));
  }
  return {{"inside", call.inside},
          {"function", call.function},
          {"milliseconds", call.age_ms},
          {"one_is_enough", call.any_ends},
          {"awaited_count", call.awaited_count},
          {"awaited", std::move(awaited)}};
}

nlohmann::json json_of(const ProcessState& process) {
  nlohmann::json calls = nlohmann::json::array();
  for (const MonitoredCall& call : process.calls) calls.push_back(json_of(process, call));
  return {{"rank", process.rank},
          {"system", process.system},
          {"host", process.host},
          {"process", process.process},
          {"calls", std::move(calls)}};
}

nlohmann::json json_of(const WaitFindings& findings) {
  nlohmann::json cycles = nlohmann::json::array();
  for (const WaitCycle& cycle : findings.cycles) {
    nlohmann::json ranks = nlohmann::json::array();
    for (const WaitStep& step : cycle.steps) ranks.push_back(step.rank);
    cycles.push_back({{"ranks", std::move(ranks)}, {"certain", cycle.certain}});
  }
  nlohmann::json mismatches = nlohmann::json::array();
  for (const CollectiveMismatch& each : findings.mismatches) {
    nlohmann::json functions = nlohmann::json::object();
    for (const auto& [name, ranks] : each.functions) functions[name] = json_of(ranks);
    mismatches.push_back({{"communicator", each.group},
                          {"number", each.number},
                          {"functions", std::move(functions)}});
  }
  nlohmann::json late = nlohmann::json::array();
  for (const LateMembers& each : findings.late)
    late.push_back({{"communicator", each.group},
                    {"function", each.function},
                    {"number", each.number},
                    {"waiting", json_of(each.waiting)},
                    {"late", json_of(each.late)}});
  return {{"stuck", findings.stuck()},
          {"cycles", std::move(cycles)},
          {"mismatches", std::move(mismatches)},
          {"late", std::move(late)},
          {"behind", json_of(findings.behind)}};
}

}  // namespace

std::string why_text(const JobState& state, const WaitFindings& findings) {
  std::string text = head_text(state);
  for (const auto& [what, alike] : group_alike(state)) {
    text += fmt::format("{}: {}, {}\n", ranks_text(alike.ranks),
                        what.empty() ? "has not called MPI" : what, age_text(alike));
  }
  for (const CollectiveMismatch& each : findings.mismatches) text += mismatch_text(each);
  for (const WaitCycle& each : findings.cycles) text += cycle_text(each);
  for (const LateMembers& each : findings.late) {
    text += fmt::format("{} on {}, collective {}: begun by {}, awaited: {}\n", each.function,
                        each.group, each.number, ranks_text(each.waiting), ranks_text(each.late));
  }
  if (!findings.behind.empty())
    text += fmt::format("waiting behind these: {}\n", ranks_text(findings.behind));
  if (!findings.stuck() && state.size > 0) text += "no deadlock is seen\n";
  return text;
}

std::string why_json(const JobState& state, const WaitFindings& findings) {
  nlohmann::json processes = nlohmann::json::array();
  for (const ProcessState& each : state.processes) processes.push_back(json_of(each));
  nlohmann::json all = json_of(findings);
  all["size"] = state.size;
  all["silent"] = state.silent;
  all["unwatched"] = state.unwatched;
  all["processes"] = std::move(processes);
  return all.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace impishim::wire
