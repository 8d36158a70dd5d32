// SPDX-License-Identifier: Apache-2.0
#include "wire/check/report.hpp"

#include <algorithm>

namespace impishim::check {

bool passes(const Report& report) {
  return std::ranges::none_of(report.findings, &Finding::breaks);
}

}  // namespace impishim::check
