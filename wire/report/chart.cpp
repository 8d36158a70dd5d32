// SPDX-License-Identifier: Apache-2.0
#include "wire/report/chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/report/job_statistics.hpp"
#include "wire/statistics/call_scope.hpp"
#include "wire/statistics/log_histogram.hpp"
#include "wire/statistics/process_statistics.hpp"

namespace impishim::report {
namespace {

using Systems = std::map<std::int32_t, SystemSums>;

constexpr std::array<std::string_view, wire::kScopes> kScopeTitles = {"inside systems",
                                                                      "between systems", "other"};

Chart matrix_chart(std::string id, std::string parts, const TrafficMatrix& matrix) {
  Chart chart;
  chart.id = std::move(id);
  chart.title = fmt::format("Messages between {}, in bytes", parts);
  chart.description =
      "Heat map: bytes that the program sent, from each row's part to each column's part.";
  chart.form = ChartForm::kMatrix;
  chart.unit = ChartUnit::kBytes;
  chart.head = "from, to";
  chart.names = matrix.names;
  for (std::size_t to = 0; to < matrix.names.size(); ++to) {
    ChartSeries& series = chart.series.emplace_back();
    series.name = matrix.names[to];
    for (const auto& row : matrix.cells)
      series.values.push_back(static_cast<double>(row[to].bytes));
  }
  return chart;
}

/// Adds a series for each scope, with the values that `value` tells of a name's index.
void add_scopes(Chart& chart,
                const std::function<double(std::size_t name, std::size_t scope)>& value) {
  for (std::size_t scope = 0; scope < wire::kScopes; ++scope) {
    ChartSeries& series = chart.series.emplace_back();
    series.name = kScopeTitles[scope];
    for (std::size_t i = 0; i < chart.names.size(); ++i) series.values.push_back(value(i, scope));
  }
}

Chart system_chart(const Systems& systems) {
  Chart chart;
  chart.id = "time-by-system";
  chart.title = "Share of time in MPI, by system";
  chart.description = "Bars: for each system the share of its time in MPI calls, by their scope.";
  chart.unit = ChartUnit::kPercent;
  chart.across = true;
  chart.head = "system";
  std::vector<const SystemSums*> all;
  for (const auto& [system, sums] : systems) {
    chart.names.push_back(fmt::format("system {}", system));
    all.push_back(&sums);
  }
  add_scopes(chart, [&](std::size_t i, std::size_t scope) {
    return all[i]->elapsed_ns == 0 ? 0
                                   : 100 * static_cast<double>(all[i]->mpi_ns[scope]) /
                                         static_cast<double>(all[i]->elapsed_ns);
  });
  return chart;
}

Chart function_chart(const Systems& systems) {
  constexpr std::size_t kMostFunctions = 15;
  std::map<std::string, wire::ByScope<std::uint64_t>> all;
  for (const auto& [system, sums] : systems)
    for (const auto& [name, ns] : sums.function_ns)
      for (std::size_t scope = 0; scope < wire::kScopes; ++scope) all[name][scope] += ns[scope];
  std::vector<std::pair<std::uint64_t, std::string>> order;
  order.reserve(all.size());
  for (const auto& [name, ns] : all) order.emplace_back(ns[0] + ns[1] + ns[2], name);
  std::ranges::sort(order, std::greater<>());
  if (order.size() > kMostFunctions) order.resize(kMostFunctions);
  Chart chart;
  chart.id = "time-by-function";
  chart.title = "Time in MPI, by function";
  chart.description = "Bars: time of all ranks together in the functions that took most of it.";
  chart.unit = ChartUnit::kNanoseconds;
  chart.across = true;
  chart.head = "function";
  for (const auto& [ns, name] : order) chart.names.push_back(name);
  add_scopes(chart, [&](std::size_t i, std::size_t scope) {
    return static_cast<double>(all[chart.names[i]][scope]);
  });
  return chart;
}

/// Returns the width of the time line's intervals: the widest of all processes.
std::uint64_t widest_bin(const JobStatistics& job) {
  std::uint64_t widest = 1;
  for (const auto& each : job.processes) widest = std::max(widest, each.bin_ns);
  return widest;
}

Chart time_line_chart(const JobStatistics& job, const Systems& systems) {
  constexpr double kSecond = 1e9;
  const std::uint64_t width = widest_bin(job);
  std::map<std::int32_t, std::vector<double>> ns_of_system;
  std::size_t bins = 0;
  for (const wire::ProcessStatistics& process : job.processes) {
    std::vector<double>& sums = ns_of_system[process.system];
    for (std::size_t i = 0; i < process.time_line.size(); ++i) {
      const auto at = static_cast<std::size_t>(i * process.bin_ns / width);
      if (at >= sums.size()) sums.resize(at + 1);
      for (const std::uint64_t ns : process.time_line[i].ns) sums[at] += static_cast<double>(ns);
      bins = std::max(bins, sums.size());
    }
  }
  Chart chart;
  chart.id = "time-line";
  chart.title = "Share of time in MPI, along the run";
  chart.description = "Lines: for each system the mean share of its ranks' time in MPI calls.";
  chart.form = ChartForm::kLine;
  chart.unit = ChartUnit::kPercent;
  chart.head = "seconds from";
  for (std::size_t i = 0; i < bins; ++i)
    chart.names.push_back(fmt::format("{:.6g}", static_cast<double>(i * width) / kSecond));
  for (auto& [system, sums] : ns_of_system) {
    ChartSeries& series = chart.series.emplace_back();
    series.name = fmt::format("system {}", system);
    sums.resize(bins);
    const double whole = static_cast<double>(width * systems.at(system).ranks);
    for (const double ns : sums) series.values.push_back(std::min(100.0, 100 * ns / whole));
  }
  return chart;
}

/// Returns a histogram of two scopes, from the first class that has values to the last.
Chart histogram_chart(const wire::ByScope<LogHistogram>& scopes, ChartUnit unit) {
  Chart chart;
  std::size_t first = LogHistogram::kClasses;
  std::size_t end = 0;
  for (const LogHistogram& each : scopes) {
    end = std::max(end, each.used());
    for (std::size_t i = 0; i < each.used(); ++i)
      if (each.counts[i] > 0) first = std::min(first, i);
  }
  for (std::size_t i = first; i < end; ++i)
    chart.names.push_back(
        i == 0 ? "0" : "≥ " + value_text(static_cast<double>(LogHistogram::lowest(i)), unit));
  add_scopes(chart, [&](std::size_t i, std::size_t scope) {
    return static_cast<double>(scopes[scope].counts[first + i]);
  });
  return chart;
}

Chart named(Chart chart, std::string_view id, std::string_view title, std::string_view description,
            std::string_view head) {
  chart.id = id;
  chart.title = title;
  chart.description = description;
  chart.head = head;
  return chart;
}

/// Returns a value with the greatest unit that is not above it.
std::string scaled(double value, double step, const std::vector<std::string_view>& units) {
  std::size_t unit = 0;
  while (value >= step && unit + 1 < units.size()) {
    value /= step;
    ++unit;
  }
  return value >= 100 ? fmt::format("{:.0f} {}", value, units[unit])
                      : fmt::format("{:.3g} {}", value, units[unit]);
}

}  // namespace

std::string value_text(double value, ChartUnit unit) {
  constexpr double kThousand = 1000;
  switch (unit) {
    case ChartUnit::kBytes:
      return scaled(value, kThousand, {"B", "kB", "MB", "GB", "TB", "PB"});
    case ChartUnit::kNanoseconds:
      return scaled(value, kThousand, {"ns", "µs", "ms", "s"});
    case ChartUnit::kPercent:
      return fmt::format("{:.1f} %", value);
    case ChartUnit::kCount:
      break;
  }
  return fmt::format("{:.0f}", value);
}

std::vector<Chart> traffic_charts(const JobStatistics& job) {
  std::vector<Chart> charts;
  charts.push_back(matrix_chart("traffic-systems", "systems", system_matrix(job)));
  const TrafficMatrix hosts = host_matrix(job);
  if (hosts.names.size() <= kMostParts)
    charts.push_back(matrix_chart("traffic-hosts", "hosts", hosts));
  if (static_cast<std::size_t>(job.size) <= kMostParts)
    charts.push_back(matrix_chart("traffic-ranks", "ranks", rank_matrix(job)));
  return charts;
}

std::vector<Chart> time_charts(const JobStatistics& job) {
  const Systems systems = system_sums(job);
  return {system_chart(systems), function_chart(systems), time_line_chart(job, systems)};
}

std::vector<Chart> histogram_charts(const JobStatistics& job) {
  wire::ByScope<LogHistogram> sizes{};
  wire::ByScope<LogHistogram> durations{};
  wire::ByScope<LogHistogram> batches{};
  wire::ByScope<LogHistogram> answers{};
  for (const auto& [system, sums] : system_sums(job)) {
    for (std::size_t scope = 0; scope < wire::kScopes; ++scope) {
      sizes[scope].add(sums.message_bytes[scope]);
      durations[scope].add(sums.durations[scope]);
      batches[scope].add(sums.batch_bytes[scope]);
    }
    answers[wire::index_of(wire::CallScope::kBetween)].add(sums.answer_ns);
  }
  return {
      named(histogram_chart(sizes, ChartUnit::kBytes), "message-sizes", "Sizes of messages",
            "Histogram: how many messages the program sent, by their size.", "size"),
      named(histogram_chart(batches, ChartUnit::kBytes), "batch-sizes", "Sizes of batches",
            "Histogram: how often packets were handed to a connection, by the bytes of all that "
            "went together.",
            "size"),
      named(histogram_chart(answers, ChartUnit::kNanoseconds), "answer-times",
            "Latency of long messages",
            "Histogram: how long it took from the start of a long or synchronous message to the "
            "receiver's answer that it had matched.",
            "time"),
      named(histogram_chart(durations, ChartUnit::kNanoseconds), "call-durations",
            "Durations of MPI calls", "Histogram: how many calls there were, by their duration.",
            "duration")};
}

}  // namespace impishim::report
