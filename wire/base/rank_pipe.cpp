// SPDX-License-Identifier: Apache-2.0
#include "wire/base/rank_pipe.hpp"

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "wire/base/log.hpp"

namespace impishim {

void tell_rank(std::int32_t rank) {
  const char* variable = secure_getenv(kRankPipeVariable);
  if (variable == nullptr) return;
  char* end = nullptr;
  const long pipe = std::strtol(variable, &end, 10);
  struct stat status {};
  if (pipe <= STDERR_FILENO || pipe > INT32_MAX || fstat(static_cast<int>(pipe), &status) != 0 ||
      !S_ISFIFO(status.st_mode) ||
      fmt::format(":{}:{}", status.st_dev, status.st_ino) != std::string(end))
    return;
  const std::string text = fmt::format("{}\n", rank);
  if (write(static_cast<int>(pipe), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    log(LogLevel::kDebug, "impirun does not read this process's rank");
  close(static_cast<int>(pipe));
}

}  // namespace impishim
