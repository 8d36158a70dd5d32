// SPDX-License-Identifier: Apache-2.0
#include "wire/report/job_statistics.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/statistics/call_scope.hpp"
#include "wire/statistics/call_statistics.hpp"
#include "wire/statistics/process_statistics.hpp"

namespace impishim::report {
namespace {

Error bad_input(std::string text) { return {ErrorKind::kConfiguration, std::move(text)}; }

/// Returns the rank in the name of a statistics file; nothing if the file has another name.
std::optional<std::int32_t> rank_in_name(std::string_view name, std::string_view beginning) {
  constexpr std::string_view kEnd = ".json";
  if (!name.starts_with(beginning) || !name.ends_with(kEnd)) return std::nullopt;
  if (name.size() < beginning.size() + kEnd.size()) return std::nullopt;
  name.remove_prefix(beginning.size());
  name.remove_suffix(kEnd.size());
  std::int32_t rank = 0;
  const auto [end, error] = std::from_chars(name.begin(), name.end(), rank);
  if (error != std::errc() || end != name.end() || rank < 0) return std::nullopt;
  return rank;
}

/// Returns the files of a prefix, by rank.
Result<std::map<std::int32_t, std::filesystem::path>> find_files(const std::string& prefix) {
  const std::filesystem::path path(prefix);
  const std::filesystem::path folder =
      path.parent_path().empty() ? std::filesystem::path(".") : path.parent_path();
  std::error_code error;
  std::map<std::int32_t, std::filesystem::path> files;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (const auto rank = rank_in_name(name, path.filename().string() + "."))
      files[*rank] = entry->path();
  }
  if (error) return bad_input(fmt::format("cannot read {}: {}", folder.string(), error.message()));
  if (files.empty())
    return bad_input(fmt::format(
        "there is no {0}.RANK.json: run the job with IMPISHIM_STATS={0}, for all systems, and "
        "bring the files of all systems to one folder",
        prefix));
  return files;
}

/// A part of the job: its name, and the ranks that belong to it.
TrafficMatrix matrix_of(const JobStatistics& job, std::vector<std::string> names,
                        const std::vector<std::size_t>& part_of_rank) {
  TrafficMatrix matrix;
  matrix.cells.resize(names.size(), std::vector<wire::PeerTraffic>(names.size()));
  matrix.names = std::move(names);
  for (const wire::ProcessStatistics& process : job.processes) {
    auto& row = matrix.cells[part_of_rank[static_cast<std::size_t>(process.rank)]];
    for (const auto& [receiver, traffic] : process.sent) {
      if (receiver >= job.size) continue;  // a process of another job
      wire::PeerTraffic& cell = row[part_of_rank[static_cast<std::size_t>(receiver)]];
      cell.messages += traffic.messages;
      cell.bytes += traffic.bytes;
    }
  }
  return matrix;
}

/// Returns the matrix of the parts that `name` tells of a process; ranks without a file are one.
template <class Name>
TrafficMatrix matrix_by(const JobStatistics& job, Name name) {
  std::vector<std::string> names;
  std::map<std::string, std::size_t> known;
  std::vector<std::size_t> parts(static_cast<std::size_t>(job.size));
  const auto part = [&](const std::string& text) {
    const auto [found, is_new] = known.emplace(text, names.size());
    if (is_new) names.push_back(text);
    return found->second;
  };
  for (const wire::ProcessStatistics& process : job.processes)
    parts[static_cast<std::size_t>(process.rank)] = part(name(process));
  for (const std::int32_t rank : job.missing)
    parts[static_cast<std::size_t>(rank)] = part("unknown");
  return matrix_of(job, std::move(names), parts);
}

void add_function(SystemSums& sums, const wire::FunctionTime& function) {
  wire::ByScope<std::uint64_t>& all = sums.function_ns[function.name];
  for (std::size_t i = 0; i < wire::kScopes; ++i) {
    all[i] += function.scopes[i].ns;
    sums.mpi_ns[i] += function.scopes[i].ns;
    sums.durations[i].add(function.scopes[i].durations);
  }
}

}  // namespace

Result<JobStatistics> read_job(const std::string& prefix) {
  const auto files = find_files(prefix);
  if (!files) return files.error();
  std::vector<wire::ProcessStatistics> processes;
  std::vector<std::string> names;
  for (const auto& [rank, path] : *files) {
    std::ifstream file(path, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    if (!file.is_open() || file.bad())
      return bad_input(fmt::format("cannot read {}", path.string()));
    auto statistics = wire::read_statistics(text);
    if (!statistics)
      return bad_input(fmt::format("{}: {}", path.string(), statistics.error().text));
    if (statistics->rank != rank)
      return bad_input(
          fmt::format("{}: it is of rank {}: was it renamed?", path.string(), statistics->rank));
    processes.push_back(std::move(*statistics));
    names.push_back(path.string());
  }
  return join_processes(std::move(processes), names);
}

Result<JobStatistics> join_processes(std::vector<wire::ProcessStatistics> processes,
                                     const std::vector<std::string>& names) {
  JobStatistics job;
  job.size = processes.front().size;
  std::vector<bool> there(static_cast<std::size_t>(job.size));
  for (std::size_t i = 0; i < processes.size(); ++i) {
    if (processes[i].job != processes.front().job || processes[i].size != job.size)
      return bad_input(
          fmt::format("{} and {} are of different jobs: remove the files of the older one, or give "
                      "each job a prefix of its own",
                      names.front(), names[i]));
    there[static_cast<std::size_t>(processes[i].rank)] = true;
  }
  for (std::int32_t rank = 0; rank < job.size; ++rank) {
    if (!there[static_cast<std::size_t>(rank)]) job.missing.push_back(rank);
  }
  job.processes = std::move(processes);
  return job;
}

TrafficMatrix rank_matrix(const JobStatistics& job) {
  std::vector<std::string> names;
  std::vector<std::size_t> parts;
  for (std::int32_t rank = 0; rank < job.size; ++rank) {
    names.push_back(std::to_string(rank));
    parts.push_back(static_cast<std::size_t>(rank));
  }
  return matrix_of(job, std::move(names), parts);
}

TrafficMatrix host_matrix(const JobStatistics& job) {
  return matrix_by(job, [](const wire::ProcessStatistics& process) {
    return fmt::format("{} of system {}", process.host, process.system);
  });
}

TrafficMatrix system_matrix(const JobStatistics& job) {
  return matrix_by(job, [](const wire::ProcessStatistics& process) {
    return fmt::format("system {}", process.system);
  });
}

std::map<std::int32_t, SystemSums> system_sums(const JobStatistics& job) {
  std::map<std::int32_t, SystemSums> systems;
  for (const wire::ProcessStatistics& process : job.processes) {
    SystemSums& sums = systems[process.system];
    ++sums.ranks;
    sums.elapsed_ns += process.elapsed_ns;
    for (const wire::FunctionTime& each : process.functions) add_function(sums, each);
    for (const auto& [system, ns] : process.waited_ns) sums.waited_ns[system] += ns;
    for (const auto& [name, value] : process.counters) sums.counters[name] += value;
    for (std::size_t i = 0; i < wire::kScopes; ++i) {
      sums.message_bytes[i].add(process.message_bytes[i]);
      sums.batch_bytes[i].add(process.batch_bytes[i]);
    }
    sums.answer_ns.add(process.answer_ns);
  }
  return systems;
}

}  // namespace impishim::report
