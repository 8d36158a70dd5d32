// SPDX-License-Identifier: Apache-2.0
#include "wire/check/report/report.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

namespace impishim::check {

bool passes(const Report& report) {
  return std::ranges::none_of(report.findings, &Finding::breaks);
}

const Road* find_road(const Report& report, std::int64_t from, std::int64_t to) {
  const auto found = std::ranges::find_if(
      report.roads, [&](const Road& each) { return each.from == from && each.to == to; });
  return found == report.roads.end() ? nullptr : &*found;
}

void put_breaks_first(std::vector<Finding>& findings) {
  std::vector<Finding> ordered;
  for (const bool breaks : {true, false})
    std::ranges::copy_if(findings, std::back_inserter(ordered),
                         [&](const Finding& each) { return each.breaks == breaks; });
  findings = std::move(ordered);
}

}  // namespace impishim::check
