// SPDX-License-Identifier: Apache-2.0
#include "wire/base/assert.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

namespace impishim {

void assertion_failed(const char* condition, const char* file, int line) noexcept {
  fmt::print(stderr,
             "impishim: {}:{}: the assertion \"{}\" does not hold; this is a defect of the "
             "library, please report it\n",
             file, line, condition);
  std::abort();
}

}  // namespace impishim
