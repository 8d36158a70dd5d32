// SPDX-License-Identifier: Apache-2.0
/// Output files of the library, apart from the program's own files.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"

namespace impishim {

/// Creates the file at `path`, with `mode`, or empties it, and returns it open for writing. The
/// name may lie in a folder where other users can create files. Therefore the function does not
/// follow a symbolic link, and opens only a regular file of this user without other names. A file
/// that exists loses the rights that are not in `mode`. Fails with kSystem; the text is the reason.
[[nodiscard]] Result<Descriptor> open_output_file(const std::string& path, mode_t mode);

/// Writes all of `text` to a file. Fails with kSystem; the text is the reason.
[[nodiscard]] Result<void> write_to(const Descriptor& file, std::string_view text);

/// Creates the file at `path` or replaces its contents. Opens it as open_output_file() does. Fails
/// with kSystem; the text is the reason.
[[nodiscard]] Result<void> write_file(const std::string& path, std::string_view text);

}  // namespace impishim
