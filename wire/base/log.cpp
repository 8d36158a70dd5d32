// SPDX-License-Identifier: Apache-2.0
#include "wire/base/log.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <string_view>

namespace impishim {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"error", "warn", "info", "debug"};

void write_line(const std::string& line) {
  // A short or failed write to standard error cannot be reported anywhere.
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

LogLevel read_level() {
  const char* text = secure_getenv("IMPISHIM_LOG");
  if (text == nullptr || *text == '\0') return LogLevel::kError;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == text) return static_cast<LogLevel>(i);
  }
  write_line(
      fmt::format("impishim: IMPISHIM_LOG={} is unknown: use error, warn, info or debug\n", text));
  return LogLevel::kError;
}

std::string& prefix() {
  static std::string text = "impishim";
  return text;
}

}  // namespace

LogLevel log_level() {
  static const LogLevel level = read_level();
  return level;
}

void set_log_name(std::string_view name) { prefix() = name; }

void log_line(LogLevel level, std::string_view text) {
  const std::string_view severity =
      level == LogLevel::kError ? "" : kNames[static_cast<std::size_t>(level)];
  std::string line = prefix() + ": ";
  if (!severity.empty()) line += fmt::format("{}: ", severity);
  line += text;
  line += '\n';
  write_line(line);
}

}  // namespace impishim
