// SPDX-License-Identifier: Apache-2.0
/// The page of a report: one HTML document that needs nothing else.
#pragma once

#include <string>
#include <string_view>

#include "wire/report/job_statistics.hpp"

namespace impishim::report {

/// What the page brings along: its style, its script, and the library that draws.
struct PageParts {
  std::string_view style;
  std::string_view script;
  std::string_view library;
};

/// Returns the page of a job. `title` is for the head.
[[nodiscard]] std::string page_of(const JobStatistics& job, const std::string& title,
                                  const PageParts& parts);

/// Returns `text` as it stands in HTML, also between quotes.
[[nodiscard]] std::string escaped(std::string_view text);

}  // namespace impishim::report
