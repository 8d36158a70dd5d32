/// Files that the library writes beside the program's own.
#pragma once

#include <string>
#include <string_view>

#include "wire/base/result.hpp"

namespace impishim {

/// Makes or replaces the contents of the file at `path`. The name may lie in a folder where others
/// can make files: a symbolic link is not followed, and what is no regular file of this user is not
/// written. kSystem: the reason.
[[nodiscard]] Result<void> write_file(const std::string& path, std::string_view text);

}  // namespace impishim
