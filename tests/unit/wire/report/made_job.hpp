// SPDX-License-Identifier: Apache-2.0
/// Statistics of jobs that never ran.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/report/job_statistics.hpp"
#include "wire/statistics/call_scope.hpp"
#include "wire/statistics/process_statistics.hpp"

namespace impishim::report {

inline constexpr std::uint64_t kSecond = 1000000000;

/// Adds calls of a function that lasted `ns` together.
inline void add_function(wire::ProcessStatistics& process, std::string name, wire::CallScope scope,
                         std::uint64_t calls, std::uint64_t ns) {
  wire::FunctionTime function{std::move(name), {}};
  wire::CallTime& time = function.scopes[index_of(scope)];
  time.calls = calls;
  time.ns = ns;
  time.durations.add(ns / calls, calls);
  process.functions.push_back(std::move(function));
}

/// Returns two systems of two ranks that ran for ten seconds and did nothing.
inline std::vector<wire::ProcessStatistics> four_processes() {
  std::vector<wire::ProcessStatistics> processes(4);
  for (std::size_t rank = 0; rank < processes.size(); ++rank) {
    wire::ProcessStatistics& each = processes[rank];
    each.job = "a job";
    each.rank = static_cast<std::int32_t>(rank);
    each.size = 4;
    each.system = each.rank / 2;
    each.host = "node" + std::to_string(rank / 2);
    each.library = "some MPI";
    each.began_us = 1700000000000000;
    each.elapsed_ns = 10 * kSecond;
    each.bin_ns = kSecond;
  }
  return processes;
}

inline std::vector<std::string> names_of(const std::vector<wire::ProcessStatistics>& processes) {
  std::vector<std::string> names;
  for (const wire::ProcessStatistics& each : processes)
    names.push_back("run." + std::to_string(each.rank) + ".json");
  return names;
}

/// Joins processes that belong together.
inline JobStatistics job_of(std::vector<wire::ProcessStatistics> processes) {
  const std::vector<std::string> names = names_of(processes);
  return join_processes(std::move(processes), names).value();
}

}  // namespace impishim::report
