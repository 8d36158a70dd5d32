// SPDX-License-Identifier: Apache-2.0
#include "wire/watch/wait_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "wire/monitor/process_state.hpp"
#include "wire/watch/monitor_session.hpp"

namespace impishim::wire {
namespace {

/// The function without the suffix of its form for large counts.
std::string base_name(const std::string& function) {
  return function.ends_with("_c") ? function.substr(0, function.size() - 2) : function;
}

const std::string& begun_by(const MonitoredCall& call, const Awaited& awaited) {
  return awaited.function.empty() ? call.function : awaited.function;
}

std::string on_group(const ProcessState& process, std::uint64_t id) {
  const MonitoredGroup* group = group_of(process, id);
  return group == nullptr ? "" : " on " + group->name;
}

std::string peer_text(const Awaited& awaited) {
  const std::string peer =
      awaited.peer == kAnyPeer ? "any rank" : fmt::format("rank {}", awaited.peer);
  const std::string tag = awaited.tag < 0 ? "any tag" : fmt::format("tag {}", awaited.tag);
  return fmt::format("{} {} with {}", awaited.kind == AwaitedKind::kSend ? "to" : "from", peer,
                     tag);
}

std::string text_of(const ProcessState& process, const MonitoredCall& call,
                    const Awaited& awaited) {
  std::string text = begun_by(call, awaited) + on_group(process, awaited.group);
  if (awaited.kind == AwaitedKind::kReceive || awaited.kind == AwaitedKind::kSend)
    text += ", " + peer_text(awaited);
  if (awaited.kind == AwaitedKind::kCollective && awaited.number > 0)
    text += fmt::format(" (collective {})", awaited.number);
  return text;
}

/// What one waiting process waits for.
struct Wait {
  const ProcessState* process = nullptr;
  const MonitoredCall* call = nullptr;
  /// One set for each awaited operation: the ranks that can complete it. All of a set are needed
  /// for a collective; one is enough for a message from any source.
  struct Need {
    const Awaited* awaited = nullptr;
    std::vector<std::int32_t> ranks;
    bool one_is_enough = false;
  };
  std::vector<Need> needs;
};

class WaitGraph {
 public:
  explicit WaitGraph(const JobState& state) {
    for (const ProcessState& process : state.processes) processes_[process.rank] = &process;
    for (const ProcessState& process : state.processes) {
      if (const MonitoredCall* call = waiting_call(process); call != nullptr) add(process, *call);
    }
    find_those_that_cannot_go_on();
  }

  [[nodiscard]] const std::map<std::int32_t, Wait>& waits() const { return waits_; }
  [[nodiscard]] bool is_stuck(std::int32_t rank) const { return stuck_.contains(rank); }

  /// Returns the number of collectives that a process has begun on the group.
  [[nodiscard]] std::uint64_t begun(std::int32_t rank, std::uint64_t group) const {
    const MonitoredGroup* known = group_of(*processes_.at(rank), group);
    return known == nullptr ? 0 : known->begun;
  }
  [[nodiscard]] const std::map<std::int32_t, const ProcessState*>& processes() const {
    return processes_;
  }

  /// Returns a rank that `rank` waits for and that is stuck itself, and the need for it.
  [[nodiscard]] std::optional<std::pair<std::int32_t, const Wait::Need*>> next(
      std::int32_t rank) const {
    for (const Wait::Need& need : waits_.at(rank).needs) {
      for (const std::int32_t each : need.ranks) {
        if (stuck_.contains(each)) return std::pair(each, &need);
      }
    }
    return std::nullopt;
  }

 private:
  void add(const ProcessState& process, const MonitoredCall& call) {
    Wait wait{&process, &call, {}};
    for (const Awaited& awaited : call.awaited) {
      const MonitoredGroup* group = group_of(process, awaited.group);
      Wait::Need need{&awaited, {}, false};
      if (awaited.kind == AwaitedKind::kCollective && group != nullptr) {
        need.ranks = late_members(*group, awaited, process.rank);
      } else if (awaited.kind == AwaitedKind::kOther ||
                 (awaited.peer == kAnyPeer && group == nullptr)) {
        continue;  // it is not known what can end it
      } else if (awaited.peer == kAnyPeer) {
        if (has_unknown(*group)) continue;
        need.ranks = others(*group, process.rank);
        need.one_is_enough = true;
      } else {
        need.ranks = {awaited.peer};
      }
      wait.needs.push_back(std::move(need));
    }
    waits_.emplace(process.rank, std::move(wait));
  }

  /// Returns the other members that have told their state.
  [[nodiscard]] std::vector<std::int32_t> others(const MonitoredGroup& group,
                                                 std::int32_t rank) const {
    std::vector<std::int32_t> ranks;
    for (const auto& [each, process] : processes_) {
      if (each != rank && contains(group.members, each)) ranks.push_back(each);
    }
    return ranks;
  }

  /// Returns true if some member has not told its state: it may do anything.
  [[nodiscard]] bool has_unknown(const MonitoredGroup& group) const {
    std::int64_t members = 0;
    for (const auto& [first, last] : group.members) members += std::int64_t{last} - first + 1;
    const auto is_member = [&](const auto& each) { return contains(group.members, each.first); };
    return members > std::ranges::count_if(processes_, is_member);
  }

  [[nodiscard]] std::vector<std::int32_t> late_members(const MonitoredGroup& group,
                                                       const Awaited& awaited,
                                                       std::int32_t rank) const {
    std::vector<std::int32_t> late = others(group, rank);
    std::erase_if(late, [&](std::int32_t each) { return begun(each, group.id) >= awaited.number; });
    return late;
  }

  [[nodiscard]] bool can_end(const Wait::Need& need) const {
    const auto moves = [this](std::int32_t rank) { return !stuck_.contains(rank); };
    return need.one_is_enough ? std::ranges::any_of(need.ranks, moves)
                              : std::ranges::all_of(need.ranks, moves);
  }

  /// Begins with all that wait, and takes away those whose wait others can end, until none is left
  /// to take away.
  void find_those_that_cannot_go_on() {
    for (const auto& [rank, wait] : waits_) {
      if (!wait.needs.empty()) stuck_.insert(rank);
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& [rank, wait] : waits_) {
        if (!stuck_.contains(rank)) continue;
        const auto ends = [this](const Wait::Need& need) { return can_end(need); };
        const bool incomplete = wait.needs.size() < wait.call->awaited_count;
        const bool goes_on = wait.call->any_ends
                                 ? incomplete || std::ranges::any_of(wait.needs, ends)
                                 : std::ranges::all_of(wait.needs, ends);
        if (!goes_on) continue;
        stuck_.erase(rank);
        changed = true;
      }
    }
  }

  std::map<std::int32_t, const ProcessState*> processes_;
  std::map<std::int32_t, Wait> waits_;
  std::set<std::int32_t> stuck_;
};

WaitStep step_of(const Wait& wait, std::int32_t for_rank, const Wait::Need& need) {
  std::string text = "in " + wait.call->function;
  if (!need.awaited->function.empty())
    text += " for " + text_of(*wait.process, *wait.call, *need.awaited);
  else
    text = "in " + text_of(*wait.process, *wait.call, *need.awaited);
  return {wait.process->rank, for_rank, std::move(text)};
}

/// Follows stuck processes from each one that was not met yet.
void find_cycles(const WaitGraph& graph, WaitFindings& findings) {
  std::map<std::int32_t, std::int32_t> met;  // rank -> the walk that met it
  std::set<std::int32_t> in_cycles;
  for (const auto& [start, wait] : graph.waits()) {
    if (!graph.is_stuck(start)) continue;
    std::vector<WaitStep> walk;
    std::vector<bool> certain;
    std::int32_t rank = start;
    while (!met.contains(rank)) {
      const auto next = graph.next(rank);
      if (!next) break;
      met[rank] = start;
      const Wait& from = graph.waits().at(rank);
      walk.push_back(step_of(from, next->first, *next->second));
      certain.push_back(from.call->awaited_count == 1 && from.process->calls.size() == 1);
      rank = next->first;
    }
    const auto first = std::ranges::find(walk, rank, &WaitStep::rank);
    if (first == walk.end()) continue;
    const auto begin = first - walk.begin();
    WaitCycle cycle{{first, walk.end()},
                    std::all_of(certain.begin() + begin, certain.end(), [](bool b) { return b; })};
    for (const WaitStep& step : cycle.steps) in_cycles.insert(step.rank);
    findings.cycles.push_back(std::move(cycle));
  }
  std::vector<std::int32_t> behind;
  for (const auto& [rank, wait] : graph.waits()) {
    if (graph.is_stuck(rank) && !in_cycles.contains(rank)) behind.push_back(rank);
  }
  findings.behind = rank_list(std::move(behind));
}

/// A collective that processes wait in.
struct Meeting {
  const MonitoredGroup* group = nullptr;
  std::uint64_t number = 0;
  std::vector<std::int32_t> waiting;
  std::vector<std::int32_t> late;
  std::map<std::string, std::vector<std::int32_t>> functions;
};

/// Returns the collectives that processes wait in, with these processes.
std::vector<Meeting> find_meetings(const WaitGraph& graph) {
  std::map<std::pair<std::uint64_t, std::uint64_t>, Meeting> meetings;
  for (const auto& [rank, wait] : graph.waits()) {
    for (const Awaited& awaited : wait.call->awaited) {
      const MonitoredGroup* group = group_of(*wait.process, awaited.group);
      if (awaited.kind != AwaitedKind::kCollective || group == nullptr || awaited.number == 0)
        continue;
      Meeting& meeting = meetings[{awaited.group, awaited.number}];
      meeting.group = group;
      meeting.number = awaited.number;
      meeting.waiting.push_back(rank);
      meeting.functions[base_name(begun_by(*wait.call, awaited))].push_back(rank);
    }
  }
  std::vector<Meeting> all;
  for (auto& [place, meeting] : meetings) all.push_back(std::move(meeting));
  return all;
}

/// Adds the members that do not wait in it.
void add_other_members(const WaitGraph& graph, Meeting& meeting) {
  for (const auto& [rank, process] : graph.processes()) {
    if (!contains(meeting.group->members, rank)) continue;
    const std::uint64_t begun = graph.begun(rank, meeting.group->id);
    if (begun < meeting.number) meeting.late.push_back(rank);
    const bool waits = std::ranges::find(meeting.waiting, rank) != meeting.waiting.end();
    if (begun != meeting.number || waits) continue;
    // It has left this collective already, or has just begun it.
    const MonitoredGroup* known = group_of(*process, meeting.group->id);
    if (!known->latest.empty()) meeting.functions[base_name(known->latest)].push_back(rank);
  }
}

void find_collectives(const WaitGraph& graph, WaitFindings& findings) {
  for (Meeting& meeting : find_meetings(graph)) {
    const std::string function = meeting.functions.begin()->first;
    add_other_members(graph, meeting);
    if (meeting.functions.size() > 1) {
      CollectiveMismatch mismatch{meeting.group->name, meeting.number, {}};
      for (auto& [name, ranks] : meeting.functions)
        mismatch.functions[name] = rank_list(std::move(ranks));
      findings.mismatches.push_back(std::move(mismatch));
    }
    if (!meeting.late.empty())
      findings.late.push_back({meeting.group->name, function, meeting.number,
                               rank_list(std::move(meeting.waiting)),
                               rank_list(std::move(meeting.late))});
  }
}

}  // namespace

const MonitoredGroup* group_of(const ProcessState& process, std::uint64_t id) {
  if (id == 0) return nullptr;
  const auto found = std::ranges::find(process.groups, id, &MonitoredGroup::id);
  return found == process.groups.end() ? nullptr : &*found;
}

std::string describe(const ProcessState& process, const MonitoredCall& call) {
  if (!call.inside) return call.function.empty() ? "" : "outside of MPI since " + call.function;
  if (call.awaited.size() == 1 && call.awaited_count == 1 && call.awaited[0].function.empty())
    return text_of(process, call, call.awaited[0]);
  std::string text = call.function;
  if (call.awaited_count == 0) return text;
  text += call.any_ends ? ", for one of: " : ", for: ";
  for (std::size_t i = 0; i < call.awaited.size(); ++i)
    text += (i == 0 ? "" : "; ") + text_of(process, call, call.awaited[i]);
  if (call.awaited_count > call.awaited.size())
    text += fmt::format("; and {} more", call.awaited_count - call.awaited.size());
  return text;
}

const MonitoredCall* waiting_call(const ProcessState& process) {
  const MonitoredCall* oldest = nullptr;
  for (const MonitoredCall& call : process.calls) {
    if (!call.inside || call.age_ms < static_cast<std::uint64_t>(kLeastWait.count()))
      return nullptr;
    if (oldest == nullptr || call.age_ms > oldest->age_ms) oldest = &call;
  }
  return oldest;
}

WaitFindings find_stuck(const JobState& state) {
  const WaitGraph graph(state);
  WaitFindings findings;
  find_cycles(graph, findings);
  find_collectives(graph, findings);
  return findings;
}

}  // namespace impishim::wire
