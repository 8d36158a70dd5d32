// SPDX-License-Identifier: Apache-2.0
/// A report for people.
#pragma once

#include <string>

#include "wire/check/report/report.hpp"

namespace impishim::check {

/// Returns the lines that `-check` prints.
[[nodiscard]] std::string report_text(const Report& report);

}  // namespace impishim::check
