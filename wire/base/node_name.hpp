// SPDX-License-Identifier: Apache-2.0
/// The name of this machine.
#pragma once

#include <sys/utsname.h>

#include <string>

namespace impishim {

/// Returns the name that the kernel has for this node; empty if it does not tell.
[[nodiscard]] inline std::string node_name() {
  utsname machine{};
  return uname(&machine) == 0 ? machine.nodename : "";
}

}  // namespace impishim
