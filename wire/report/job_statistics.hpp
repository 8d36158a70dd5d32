// SPDX-License-Identifier: Apache-2.0
/// The statistics of all processes of a job, and what they add up to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/statistics/call_scope.hpp"
#include "wire/statistics/call_statistics.hpp"
#include "wire/statistics/log_histogram.hpp"
#include "wire/statistics/process_statistics.hpp"

namespace impishim::report {

struct JobStatistics {
  std::vector<wire::ProcessStatistics> processes;  ///< by rank; at least one
  std::int32_t size = 0;
  std::vector<std::int32_t> missing;  ///< ranks without a file
};

/// Reads PREFIX.RANK.json of all ranks that are there. Fails with kConfiguration if there is none,
/// if one cannot be read, or if they are of several jobs.
[[nodiscard]] Result<JobStatistics> read_job(const std::string& prefix);
/// Puts the statistics of the processes together. Fails likewise. `names` are for messages.
[[nodiscard]] Result<JobStatistics> join_processes(std::vector<wire::ProcessStatistics> processes,
                                                   const std::vector<std::string>& names);

/// Messages from each part of a job to each other one.
struct TrafficMatrix {
  std::vector<std::string> names;
  std::vector<std::vector<wire::PeerTraffic>> cells;  ///< [sender][receiver]
};

/// Returns the matrix of ranks. A rank without a file sends nothing in it.
[[nodiscard]] TrafficMatrix rank_matrix(const JobStatistics& job);
/// Returns the matrix of nodes, by their names in each system. Ranks without a file are one part.
[[nodiscard]] TrafficMatrix host_matrix(const JobStatistics& job);
[[nodiscard]] TrafficMatrix system_matrix(const JobStatistics& job);

/// The processes of one system together.
struct SystemSums {
  std::size_t ranks = 0;
  std::uint64_t elapsed_ns = 0;
  wire::ByScope<std::uint64_t> mpi_ns{};
  std::map<std::string, wire::ByScope<std::uint64_t>> function_ns;
  std::map<std::int32_t, std::uint64_t> waited_ns;
  std::map<std::string, std::uint64_t> counters;
  wire::ByScope<LogHistogram> message_bytes;
  wire::ByScope<LogHistogram> durations;
  wire::ByScope<LogHistogram> batch_bytes;
  LogHistogram answer_ns;
};

/// Returns the sums by system.
[[nodiscard]] std::map<std::int32_t, SystemSums> system_sums(const JobStatistics& job);

}  // namespace impishim::report
