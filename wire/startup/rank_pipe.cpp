// SPDX-License-Identifier: Apache-2.0
#include "wire/startup/rank_pipe.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <string>

#include "wire/base/log.hpp"

namespace impishim::wire {
namespace {

/// Writes to a pipe. A reader that has gone is no reason to end this process.
bool write_without_signal(int pipe, const std::string& text) {
  sigset_t broken;
  sigemptyset(&broken);
  sigaddset(&broken, SIGPIPE);
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &broken, &before);
  const bool written = write(pipe, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (!written && errno == EPIPE) {
    const timespec now{};
    sigtimedwait(&broken, nullptr, &now);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return written;
}

}  // namespace

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
  if (!write_without_signal(static_cast<int>(pipe), fmt::format("{}\n", rank)))
    log(LogArea::kStartup, LogLevel::kDebug, "impirun does not read this process's rank");
  close(static_cast<int>(pipe));
}

}  // namespace impishim::wire
