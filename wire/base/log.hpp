/// The library's log: levels, and one line per event on standard error.
///
/// IMPISHIM_LOG selects the level: error (default), warn, info, debug. A line is written with one
/// write(2), so that lines of several processes do not mix.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string_view>
#include <utility>

namespace impishim {

enum class LogLevel : std::uint8_t {
  kError,  ///< the job ends, or a peer was turned away for cause
  kWarn,   ///< works, but the user should know
  kInfo,   ///< milestones: joined, listening, closed
  kDebug,  ///< state changes of links and requests
};

/// The level in force, read once from IMPISHIM_LOG. An unknown name means kError, and is reported.
[[nodiscard]] LogLevel log_level();

/// What every later line begins with, e.g. "impishim: rank 3". Not thread-safe: call before threads
/// exist.
void set_log_name(std::string_view name);

/// Writes one line to standard error, after the log's name.
void log_line(LogLevel level, std::string_view text);

template <class... Args>
void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (level <= log_level()) log_line(level, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace impishim
