// SPDX-License-Identifier: Apache-2.0
/// The files of page/, and the library that draws, as parts of the program.
#pragma once

#include "wire/report/report_page.hpp"

namespace impishim::report {

[[nodiscard]] PageParts embedded_page();

}  // namespace impishim::report
