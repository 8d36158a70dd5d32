// SPDX-License-Identifier: Apache-2.0
/// The library's log: levels, and one line per event on standard error.
///
/// IMPISHIM_LOG selects the level: error (default), warn, info, debug. A line is written with one
/// write(2), so lines of several processes do not mix.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string_view>
#include <utility>

namespace impishim {

enum class LogLevel : std::uint8_t {
  kError,  ///< the job ends, or a peer was rejected for a stated reason
  kWarn,   ///< the job continues, but the user should know
  kInfo,   ///< milestones: joined, listening, closed
  kDebug,  ///< state changes of links and requests
};

/// Returns the log level, which is read once from IMPISHIM_LOG. Reports an unknown name and then
/// uses kError.
[[nodiscard]] LogLevel log_level();

/// Sets the prefix of all later lines, e.g. "impishim: rank 3". Not thread-safe: call it before
/// other threads exist.
void set_log_name(std::string_view name);

/// Writes one line to standard error, with the log's prefix in front of it.
void log_line(LogLevel level, std::string_view text);

template <class... Args>
void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (level <= log_level()) log_line(level, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace impishim
