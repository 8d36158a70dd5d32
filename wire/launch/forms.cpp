// SPDX-License-Identifier: Apache-2.0
#include "wire/launch/forms.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "wire/base/result.hpp"
#include "wire/launch/supervisor.hpp"

namespace impishim::launch {

int complain(const Error& error, int status) {
  std::fprintf(stderr, "impirun: %s\n", error.text.c_str());
  return status;
}

int print(const std::string& text) {
  if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return 0;
  return complain(
      {ErrorKind::kSystem, fmt::format("cannot write standard output: {}", std::strerror(errno))},
      kFailureStatus);
}

}  // namespace impishim::launch
