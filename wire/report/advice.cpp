// SPDX-License-Identifier: Apache-2.0
#include "wire/report/advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/report/job_statistics.hpp"
#include "wire/statistics/call_scope.hpp"
#include "wire/statistics/log_histogram.hpp"

namespace impishim::report {
namespace {

using Systems = std::map<std::int32_t, SystemSums>;

constexpr std::size_t kBetween = index_of(wire::CallScope::kBetween);

double ratio(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

std::string seconds(double ns) {
  constexpr double kSecond = 1e9;
  return fmt::format("{:.3g} s", ns / kSecond);
}

/// Returns true for collectives that no member leaves before all have come.
bool synchronises(std::string_view function) {
  constexpr std::string_view kPrefix = "MPI_";
  if (!function.starts_with(kPrefix)) return false;
  function.remove_prefix(kPrefix.size());
  constexpr std::array kParts = {std::string_view("Allreduce"), std::string_view("Barrier"),
                                 std::string_view("Alltoall"), std::string_view("Allgather"),
                                 std::string_view("Reduce_scatter")};
  return std::ranges::any_of(kParts,
                             [&](std::string_view part) { return function.starts_with(part); });
}

double ns_of_rank(const SystemSums& sums, const std::string& function) {
  const auto found = sums.function_ns.find(function);
  if (found == sums.function_ns.end() || sums.ranks == 0) return 0;
  return static_cast<double>(found->second[kBetween]) / static_cast<double>(sums.ranks);
}

/// A system that waits in a collective until the last system comes. The last one does not wait, so
/// what it needs itself is the cost of the collective; what others need beyond that, they wait.
void find_late_systems(const Systems& systems, std::vector<std::string>& advice) {
  constexpr double kWorthTelling = 0.05;
  std::vector<std::pair<double, std::string>> found;
  std::set<std::string> functions;
  for (const auto& [system, sums] : systems)
    for (const auto& [name, ns] : sums.function_ns)
      if (synchronises(name)) functions.insert(name);
  for (const std::string& name : functions) {
    const auto last = std::ranges::min_element(
        systems, {}, [&](const auto& each) { return ns_of_rank(each.second, name); });
    const double own = ns_of_rank(last->second, name);
    for (const auto& [system, sums] : systems) {
      const double waits = ns_of_rank(sums, name) - own;
      const double elapsed = static_cast<double>(sums.elapsed_ns) /
                             static_cast<double>(std::max<std::size_t>(sums.ranks, 1));
      const double share = elapsed > 0 ? waits / elapsed : 0;
      if (share < kWorthTelling) continue;
      found.emplace_back(
          share, fmt::format(
                     "System {} waits {} of its time in {} for system {}: {} for each rank, beyond "
                     "the {} that system {} needs, which comes last. Give system {} less work, or "
                     "more ranks.",
                     system, percent(share), name, last->first, seconds(waits), seconds(own),
                     last->first, last->first));
    }
  }
  std::ranges::sort(found, std::greater<>());
  for (auto& [share, text] : found) advice.push_back(std::move(text));
}

void find_awaited_messages(const Systems& systems, std::vector<std::string>& advice) {
  constexpr double kWorthTelling = 0.1;
  for (const auto& [system, sums] : systems) {
    for (const auto& [other, ns] : sums.waited_ns) {
      const double share = ratio(ns, sums.elapsed_ns);
      if (share < kWorthTelling) continue;
      advice.push_back(fmt::format(
          "System {} is {} of its time in calls that wait for messages to or from system {} alone. "
          "Start these messages earlier (MPI_Irecv, MPI_Isend), and compute before MPI_Wait.",
          system, percent(share), other));
    }
  }
}

void find_short_messages(const Systems& systems, std::vector<std::string>& advice) {
  constexpr std::size_t kShort = 10;  // class of 512 to 1023 bytes
  constexpr std::uint64_t kMany = 1000;
  constexpr double kMost = 0.5;
  LogHistogram all;
  for (const auto& [system, sums] : systems) all.add(sums.message_bytes[kBetween]);
  std::uint64_t total = 0;
  std::uint64_t shorter = 0;
  for (std::size_t i = 0; i < LogHistogram::kClasses; ++i) {
    total += all.counts[i];
    if (i <= kShort) shorter += all.counts[i];
  }
  if (shorter < kMany || ratio(shorter, total) < kMost) return;
  advice.push_back(
      fmt::format("{} of {} messages between systems ({}) have less than 1024 bytes. Join messages "
                  "to the same rank, or use a neighbourhood collective.",
                  shorter, total, percent(ratio(shorter, total))));
}

void find_crossing_bytes(const JobStatistics& job, std::vector<std::string>& advice) {
  constexpr double kMost = 0.5;
  constexpr std::uint64_t kMuch = 1 << 20;
  const TrafficMatrix matrix = system_matrix(job);
  std::uint64_t total = 0;
  std::uint64_t crossing = 0;
  for (std::size_t from = 0; from < matrix.names.size(); ++from) {
    for (std::size_t to = 0; to < matrix.names.size(); ++to) {
      total += matrix.cells[from][to].bytes;
      if (from != to) crossing += matrix.cells[from][to].bytes;
    }
  }
  if (crossing < kMuch || ratio(crossing, total) <= kMost) return;
  advice.push_back(
      fmt::format("{} of the bytes of messages cross from system to system ({} of {}). Place ranks "
                  "that talk most with each other in the same system.",
                  percent(ratio(crossing, total)), crossing, total));
}

std::uint64_t counter(const SystemSums& sums, const char* name) {
  const auto found = sums.counters.find(name);
  return found == sums.counters.end() ? 0 : found->second;
}

void find_stalls(const Systems& systems, std::vector<std::string>& advice) {
  constexpr double kWorthTelling = 0.1;
  constexpr std::uint64_t kMany = 100;
  for (const auto& [system, sums] : systems) {
    const std::uint64_t sent = counter(sums, "messages_sent");
    const std::uint64_t stalls = counter(sums, "flow_control_stalls");
    if (stalls >= kMany && ratio(stalls, sent) >= kWorthTelling)
      advice.push_back(
          fmt::format("System {} had to wait for acknowledgements {} times, with {} messages sent. "
                      "Raise IMPISHIM_HIWATER and IMPISHIM_ACKMARK.",
                      system, stalls, sent));
    const std::uint64_t received = counter(sums, "messages_received");
    const std::uint64_t early = counter(sums, "unexpected_messages");
    if (early >= kMany && ratio(early, received) > kWorthTelling * 5)
      advice.push_back(
          fmt::format("{} of {} messages from other systems ({}) came to system {} before their "
                      "receive, and were copied. Post receives earlier.",
                      early, received, percent(ratio(early, received)), system));
  }
}

}  // namespace

std::vector<std::string> advice_for(const JobStatistics& job) {
  const Systems systems = system_sums(job);
  std::vector<std::string> advice;
  if (systems.size() > 1) find_late_systems(systems, advice);
  find_awaited_messages(systems, advice);
  find_short_messages(systems, advice);
  find_crossing_bytes(job, advice);
  find_stalls(systems, advice);
  return advice;
}

}  // namespace impishim::report
