// SPDX-License-Identifier: Apache-2.0
/// The library's log: one line for each event, on standard error, in a file for each process, and
/// in a buffer that is written at a failure (log_settings.hpp).
///
/// Without settings only errors are written, to standard error, as "impishim: rank 3: TEXT". With
/// IMPISHIM_LOG, and in files, a line has its time (UTC), system, world rank, host, area and level
/// in front. Each line is written with one write(2), so lines of several processes do not mix.
#pragma once

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "wire/base/log_settings.hpp"  // IWYU pragma: export
#include "wire/base/result.hpp"

namespace impishim {

/// The highest level of each area that goes anywhere. Until the settings have been read, all do, so
/// that the first line reads them.
inline constexpr std::uint8_t kLogUnread = 0xff;
inline constinit std::array<std::atomic<std::uint8_t>, kLogAreas> log_thresholds{
    kLogUnread, kLogUnread, kLogUnread, kLogUnread, kLogUnread, kLogUnread, kLogUnread};

/// Returns true if a line may go anywhere. Costs one relaxed load.
[[nodiscard]] inline bool log_enabled(LogArea area, LogLevel level) {
  return static_cast<std::uint8_t>(level) <=
         log_thresholds[static_cast<std::size_t>(area)].load(std::memory_order_relaxed);
}

/// Reads the settings from the environment; the first line of the log does it otherwise. Fails with
/// kConfiguration for a wrong value; the text names it. The settings before it are kept then.
[[nodiscard]] Result<void> configure_log();
/// Replaces the settings. A file of another name is opened with the next line.
void configure_log(const LogSettings& settings);
/// Returns the settings.
[[nodiscard]] LogSettings log_settings();

/// Sets the prefix of all later lines, e.g. "impishim: rank 3", and the name of the process in the
/// name of the log's file, e.g. "3".
void set_log_name(std::string_view prefix, std::string_view process);
/// Tells the place of this process in the job. -1: not known yet. Lines for the file are kept until
/// the rank is known, or set_log_name() has named the process.
void set_log_place(std::int32_t system, std::int32_t rank);

/// Writes one line to standard error whatever the settings are, and to the file if there is one.
void log_line(LogArea area, LogLevel level, std::string_view text);
/// Writes one line to the places that the settings name.
void log_if_wanted(LogArea area, LogLevel level, std::string_view text);
/// Writes the lines that are only in memory, to the file or to standard error. To be called when
/// the job fails; later calls do nothing.
void write_log_buffer();

template <class... Args>
void log(LogArea area, LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(area, level)) [[unlikely]]
    log_if_wanted(area, level, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace impishim
