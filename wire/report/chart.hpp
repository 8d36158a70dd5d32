// SPDX-License-Identifier: Apache-2.0
/// The charts of a report, each with the numbers of its table.
#pragma once

#include <string>
#include <vector>

#include "wire/report/job_statistics.hpp"

namespace impishim::report {

/// How a chart is drawn (page/page.js).
enum class ChartForm { kMatrix, kBars, kLine };
enum class ChartUnit { kCount, kBytes, kNanoseconds, kPercent };

struct ChartSeries {
  std::string name;
  std::vector<double> values;  ///< one for each name of the chart
};

struct Chart {
  std::string id;
  std::string title;
  std::string description;  ///< for those who do not see it
  ChartForm form = ChartForm::kBars;
  ChartUnit unit = ChartUnit::kCount;
  bool across = false;             ///< bars from left to right
  std::string head;                ///< of the column of names
  std::vector<std::string> names;  ///< of what the rows of the table are
  std::vector<ChartSeries> series;
};

/// Returns the charts of the traffic: of systems, hosts and ranks. Parts too many to be drawn are
/// left out.
[[nodiscard]] std::vector<Chart> traffic_charts(const JobStatistics& job);
/// Returns the charts of time: by system, by function, and along the run.
[[nodiscard]] std::vector<Chart> time_charts(const JobStatistics& job);
/// Returns the histograms: sizes of messages, sizes of batches, latencies of long messages,
/// durations of calls.
[[nodiscard]] std::vector<Chart> histogram_charts(const JobStatistics& job);

/// Returns a value with its unit, for people.
[[nodiscard]] std::string value_text(double value, ChartUnit unit);

/// The most parts of a matrix that is drawn.
inline constexpr std::size_t kMostParts = 256;

}  // namespace impishim::report
