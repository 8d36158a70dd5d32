// SPDX-License-Identifier: Apache-2.0
/// What the program may call, as far as its symbols tell.
#pragma once

#include <span>
#include <string_view>

namespace impishim::shim {

/// Returns true if the executable, or a library that is loaded now, refers to one of these names
/// without defining it. The MPI library's own files do not count (libmpi*): its Fortran layer
/// refers to all functions. Takes some microseconds for each library.
[[nodiscard]] bool program_refers_to(std::span<const std::string_view> names);

}  // namespace impishim::shim
