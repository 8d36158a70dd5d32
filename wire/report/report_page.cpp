// SPDX-License-Identifier: Apache-2.0
#include "wire/report/report_page.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/report/advice.hpp"
#include "wire/report/chart.hpp"
#include "wire/report/job_statistics.hpp"
#include "wire/statistics/process_statistics.hpp"

namespace impishim::report {
namespace {

using Json = nlohmann::ordered_json;

std::string_view form_name(ChartForm form) {
  switch (form) {
    case ChartForm::kMatrix:
      return "matrix";
    case ChartForm::kLine:
      return "line";
    case ChartForm::kBars:
      break;
  }
  return "bars";
}

std::string_view unit_name(ChartUnit unit) {
  switch (unit) {
    case ChartUnit::kBytes:
      return "bytes";
    case ChartUnit::kNanoseconds:
      return "ns";
    case ChartUnit::kPercent:
      return "percent";
    case ChartUnit::kCount:
      break;
  }
  return "count";
}

/// Returns what the script draws a chart from.
Json data_of(const Chart& chart) {
  Json object = {{"form", form_name(chart.form)},
                 {"kind", unit_name(chart.unit)},
                 {"direction", chart.across ? "across" : "up"},
                 {"names", chart.names}};
  if (chart.form == ChartForm::kMatrix) {
    object["part"] = chart.id == "traffic-ranks" ? "rank " : "";
    Json rows = Json::array();
    for (std::size_t from = 0; from < chart.names.size(); ++from) {
      Json row = Json::array();
      for (const ChartSeries& each : chart.series) row.push_back(each.values[from]);
      rows.push_back(std::move(row));
    }
    object["rows"] = std::move(rows);
    return object;
  }
  object["series"] = Json::array();
  for (const ChartSeries& each : chart.series)
    object["series"].push_back({{"name", each.name}, {"values", each.values}});
  return object;
}

/// Returns JSON that may stand in a script element: no "<" can end the element.
std::string inside_script(const Json& json) {
  std::string text;
  for (const char c : json.dump(-1, ' ', false, Json::error_handler_t::replace)) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

std::string table_of(const Chart& chart) {
  std::string text = fmt::format(
      "<details><summary>{0}: the numbers</summary>\n"
      "<div class=\"table\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table>\n"
      "<caption>{1}</caption>\n<thead><tr><th scope=\"col\">{2}</th>",
      escaped(chart.title), escaped(chart.description), escaped(chart.head));
  for (const ChartSeries& each : chart.series)
    text += fmt::format("<th scope=\"col\">{}</th>", escaped(each.name));
  text += "</tr></thead>\n<tbody>\n";
  for (std::size_t i = 0; i < chart.names.size(); ++i) {
    text += fmt::format("<tr><th scope=\"row\">{}</th>", escaped(chart.names[i]));
    for (const ChartSeries& each : chart.series)
      text += fmt::format("<td>{}</td>", escaped(value_text(each.values[i], chart.unit)));
    text += "</tr>\n";
  }
  return text + "</tbody></table></div></details>\n";
}

std::string figure_of(const Chart& chart) {
  return fmt::format(
      "<figure><figcaption>{0}</figcaption>\n"
      "<div class=\"chart\" role=\"img\" data-chart=\"{1}\" aria-label=\"{2} The table below has "
      "the numbers.\"></div>\n{3}</figure>\n",
      escaped(chart.title), chart.id, escaped(chart.description), table_of(chart));
}

std::string section(std::string_view id, std::string_view title, const std::string& content) {
  return fmt::format("<section aria-labelledby=\"{0}\"><h2 id=\"{0}\">{1}</h2>\n{2}</section>\n",
                     id, title, content);
}

std::string figures_of(const std::vector<Chart>& charts) {
  std::string text = "<div class=\"grid\">\n";
  for (const Chart& chart : charts) {
    text += chart.names.empty()
                ? fmt::format("<p class=\"gap\">{}: there is nothing to show.</p>\n",
                              escaped(chart.title))
                : figure_of(chart);
  }
  return text + "</div>\n";
}

std::string counted(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string summary_of(const JobStatistics& job) {
  constexpr double kSecond = 1e9;
  constexpr std::size_t kMostNamed = 20;
  std::set<std::int32_t> systems;
  std::set<std::string> libraries;
  std::set<std::string> hosts;
  std::uint64_t longest = 0;
  for (const wire::ProcessStatistics& each : job.processes) {
    systems.insert(each.system);
    libraries.insert(each.library);
    hosts.insert(each.host);
    longest = std::max(longest, each.elapsed_ns);
  }
  const std::chrono::sys_seconds began(
      std::chrono::seconds(job.processes.front().began_us / 1000000));
  std::string text = fmt::format(
      "<p>{} in {} on {}, {:.3g} s from {:%Y-%m-%d %H:%M:%S} UTC. {}.</p>\n",
      counted(static_cast<std::size_t>(job.size), "rank"), counted(systems.size(), "system"),
      counted(hosts.size(), "host"), static_cast<double>(longest) / kSecond, began,
      escaped(fmt::format("{}", fmt::join(libraries, "; "))));
  if (job.missing.empty()) return text;
  const auto named = std::min(job.missing.size(), kMostNamed);
  text += fmt::format(
      "<p class=\"gap\">{} of {} ranks have no file, and are missing in all numbers: {}{}.</p>\n",
      job.missing.size(), job.size,
      fmt::join(job.missing.begin(), job.missing.begin() + static_cast<std::ptrdiff_t>(named),
                ", "),
      named < job.missing.size() ? ", and others" : "");
  return text;
}

std::string advice_of(const JobStatistics& job) {
  const std::vector<std::string> advice = advice_for(job);
  if (advice.empty())
    return "<p>Nothing stands out: no system waits much for another one, and messages between "
           "systems are neither short nor late.</p>\n";
  std::string text = "<ul class=\"advice\">\n";
  for (const std::string& each : advice) text += fmt::format("<li>{}</li>\n", escaped(each));
  return text + "</ul>\n";
}

std::string left_out(const JobStatistics& job) {
  if (static_cast<std::size_t>(job.size) <= kMostParts) return {};
  return fmt::format(
      "<p class=\"gap\">The matrix of ranks is left out: {} are too many to be drawn. The files "
      "have "
      "it (\"sent\").</p>\n",
      job.size);
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string page_of(const JobStatistics& job, const std::string& title, const PageParts& parts) {
  const std::vector<Chart> traffic = traffic_charts(job);
  const std::vector<Chart> time = time_charts(job);
  const std::vector<Chart> histograms = histogram_charts(job);
  Json data = Json::object();
  for (const auto* charts : {&traffic, &time, &histograms})
    for (const Chart& each : *charts)
      if (!each.names.empty()) data[each.id] = data_of(each);
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n"
      "<title>{0}: MPI statistics</title>\n<style>\n",
      escaped(title));
  page += parts.style;
  page += fmt::format(
      "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#advice\">To the findings</a>\n"
      "<header><h1>{}: MPI statistics</h1>\n{}"
      "<nav aria-label=\"Parts of this page\"><ul><li><a href=\"#advice\">What to change</a></li>"
      "<li><a href=\"#time\">Time</a></li><li><a href=\"#traffic\">Traffic</a></li><li><a "
      "href=\"#histograms\">Sizes and durations</a></li></ul></nav></header>\n<main>\n",
      escaped(title), summary_of(job));
  page += section("advice", "What to change", advice_of(job));
  page += section("time", "Time", figures_of(time));
  page += section("traffic", "Traffic", figures_of(traffic) + left_out(job));
  page += section("histograms", "Sizes and durations", figures_of(histograms));
  page +=
      "</main>\n<footer class=\"soft\"><p>Written by impishim-report. Time in a call is not "
      "only waiting: it has the transfer in it.</p></footer>\n"
      "<script type=\"application/json\" id=\"data\">";
  page += inside_script(data);
  page += "</script>\n<script>\n";
  page += parts.library;
  page += "\n</script>\n<script>\n";
  page += parts.script;
  page += "</script>\n</body>\n</html>\n";
  return page;
}

}  // namespace impishim::report
