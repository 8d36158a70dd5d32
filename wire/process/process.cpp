// SPDX-License-Identifier: Apache-2.0
#include "wire/process/process.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "wire/base/descriptor.hpp"
#include "wire/base/result.hpp"

namespace impishim {
namespace {

/// Returns true if a call that has just failed is to be repeated. Waits first if the descriptor
/// does not block, as another process that shares it can arrange.
bool is_worth_repeating(int descriptor, short events) {
  if (errno == EINTR) return true;
  if (errno != EAGAIN) return false;
  pollfd waited{descriptor, events, 0};
  poll(&waited, 1, -1);
  return true;
}

}  // namespace

Error call_failed(std::string_view what) {
  return Error{ErrorKind::kSystem, fmt::format("cannot {}: {}", what, std::strerror(errno))};
}

sigset_t signals_among(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int each : signals) {
    struct sigaction now {};
    const bool ignored = sigaction(each, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
    if (!ignored) sigaddset(&set, each);
  }
  return set;
}

Descriptor watch_signals(const sigset_t& signals) {
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  return Descriptor(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
}

Error execute(const std::vector<std::string>& command) {
  std::vector<char*> words;
  for (const std::string& word : command)
    words.push_back(const_cast<char*>(word.c_str()));  // NOLINT: execvp's interface
  words.push_back(nullptr);
  execvp(words[0], words.data());
  return call_failed("run " + command.front());
}

Result<std::string> own_program() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error)
    return Error{ErrorKind::kSystem,
                 fmt::format("cannot read /proc/self/exe: {}", error.message())};
  return path.string();
}

int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const auto written = write(descriptor, text.data(), text.size());
    if (written < 0) {
      if (is_worth_repeating(descriptor, POLLOUT)) continue;
      return errno;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

std::size_t read_some(int descriptor, char* data, std::size_t size) {
  for (;;) {
    const auto got = read(descriptor, data, size);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (!is_worth_repeating(descriptor, POLLIN)) return 0;
  }
}

bool read_exactly(int descriptor, char* data, std::size_t size) {
  while (size > 0) {
    const std::size_t got = read_some(descriptor, data, size);
    if (got == 0) return false;
    data += got;
    size -= got;
  }
  return true;
}

}  // namespace impishim
