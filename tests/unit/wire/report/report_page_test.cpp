// SPDX-License-Identifier: Apache-2.0
#include "wire/report/report_page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <utility>

#include "made_job.hpp"
#include "wire/report/job_statistics.hpp"
#include "wire/statistics/call_scope.hpp"

namespace impishim::report {
namespace {

using testing::HasSubstr;
using testing::Not;

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

std::string page_for(JobStatistics job) {
  return page_of(job, "run", {"a {}", "draw();", "library();"});
}

TEST(ReportPage, EachChartHasATable) {
  auto processes = four_processes();
  add_function(processes[0], "MPI_Send", wire::CallScope::kInside, 1, 10);
  processes[0].sent[1] = {1, 10};
  const std::string page = page_for(job_of(std::move(processes)));
  EXPECT_EQ(count_of(page, "data-chart="), count_of(page, "<caption>"));
  EXPECT_GE(count_of(page, "data-chart="), 6U);
  EXPECT_THAT(page, HasSubstr("<html lang=\"en\">"));
  EXPECT_THAT(page, HasSubstr("<title>run: MPI statistics</title>"));
  EXPECT_THAT(page, HasSubstr("library();"));
}

TEST(ReportPage, NamesCannotEndElements) {
  auto processes = four_processes();
  for (auto& each : processes) {
    each.host = "</script><b>'\"&";
    each.library = "<i>";
  }
  processes[0].sent[1] = {1, 10};
  const std::string page = page_for(job_of(std::move(processes)));
  EXPECT_EQ(count_of(page, "</script>"), 3U);  // the page's own
  EXPECT_THAT(page, Not(HasSubstr("<b>")));
  EXPECT_THAT(page, Not(HasSubstr("<i>")));
  EXPECT_THAT(page, HasSubstr("&lt;/script&gt;&lt;b&gt;&#39;&quot;&amp;"));
}

TEST(ReportPage, InvalidUtf8IsReplaced) {
  auto processes = four_processes();
  processes[0].host = "node\xff";
  EXPECT_THAT(page_for(job_of(std::move(processes))), HasSubstr("run: MPI statistics"));
}

TEST(ReportPage, MissingRanksAreStated) {
  auto processes = four_processes();
  processes.pop_back();
  EXPECT_THAT(page_for(job_of(std::move(processes))),
              HasSubstr("1 of 4 ranks have no file, and are missing in all numbers: 3."));
}

}  // namespace
}  // namespace impishim::report
