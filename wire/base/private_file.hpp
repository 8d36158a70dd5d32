// SPDX-License-Identifier: Apache-2.0
/// Files that hold secrets.
#pragma once

#include <cstddef>
#include <string>

#include "wire/base/result.hpp"

namespace impishim {

/// Returns the contents of the file `path`, the value of the variable `variable`, without white
/// space at their end; at most `most` bytes. Fails with kAuthentication if the file cannot be read,
/// is longer, is a symbolic link, is not a regular file, belongs to another user, or grants any
/// right to its group or to others. The caller wipes the text.
[[nodiscard]] Result<std::string> read_private_file(const std::string& variable,
                                                    const std::string& path, std::size_t most);

}  // namespace impishim
