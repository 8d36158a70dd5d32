// SPDX-License-Identifier: Apache-2.0
/// The file of `-configfile` (MPI-3.1 8.8): sections of the command line, one on each line.
#pragma once

#include <string>
#include <vector>

#include "wire/base/result.hpp"

namespace impishim::launch {

/// Returns the words of all sections, with ":" between them. A line that begins with # is a
/// comment; a backslash at its end continues a line. Fails with kConfiguration; the text names the
/// line.
[[nodiscard]] Result<std::vector<std::string>> read_configuration_file(const std::string& path);

}  // namespace impishim::launch
