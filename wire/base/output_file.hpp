// SPDX-License-Identifier: Apache-2.0
/// Output files of the library, apart from the program's own files.
#pragma once

#include <string>
#include <string_view>

#include "wire/base/result.hpp"

namespace impishim {

/// Creates the file at `path` or replaces its contents. The name may lie in a folder where other
/// users can create files. Therefore the function does not follow a symbolic link, and writes only
/// to a regular file of this user. Fails with kSystem; the text is the reason.
[[nodiscard]] Result<void> write_file(const std::string& path, std::string_view text);

}  // namespace impishim
