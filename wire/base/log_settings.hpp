// SPDX-License-Identifier: Apache-2.0
/// What the log records and where, as IMPISHIM_LOG and the variables that begin with it say.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/base/result.hpp"

namespace impishim {

enum class LogLevel : std::uint8_t {
  kError,  ///< the job ends, or a peer was rejected for a stated reason
  kWarn,   ///< the job continues, but the user should know
  kInfo,   ///< milestones: joined, listening, closed
  kDebug,  ///< state changes of links and requests
};

/// The part of the library that a line comes from.
enum class LogArea : std::uint8_t {
  kStartup,
  kChannel,
  kEngine,
  kRelay,
  kShuffle,
  kCollectives,
  kShim,
};
inline constexpr std::size_t kLogAreas = 7;

[[nodiscard]] std::string_view name_of(LogLevel level);
[[nodiscard]] std::string_view name_of(LogArea area);

using LogLevels = std::array<LogLevel, kLogAreas>;

/// Reads "info", "channel=debug,relay=info" or "warn,channel=debug": a level for all areas, then
/// levels of single ones. Areas without a level have kError. Fails with kConfiguration; the text
/// names `variable`, the value, and what is allowed.
[[nodiscard]] Result<LogLevels> parse_log_levels(const char* variable, std::string_view text);

/// World ranks, written as "0-3,8". Empty: all.
class RankRanges {
 public:
  /// Fails as parse_log_levels() does.
  [[nodiscard]] static Result<RankRanges> parse(const char* variable, std::string_view text);
  [[nodiscard]] bool contains(std::int32_t rank) const;

 private:
  std::vector<std::pair<std::int32_t, std::int32_t>> ranges_;  ///< first and last
};

struct LogSettings {
  /// IMPISHIM_LOG; nothing: only errors, without the columns of a log.
  std::optional<LogLevels> levels;
  /// IMPISHIM_LOG_FILE: the prefix of the file, followed by ".RANK.log"; empty: none.
  std::string file;
  /// IMPISHIM_LOG_STDERR: the highest level that standard error shows; nothing: errors if there is
  /// a file, otherwise all that is recorded.
  std::optional<LogLevel> on_stderr;
  /// IMPISHIM_LOG_RANKS: the processes that record more than errors.
  RankRanges ranks;
  /// IMPISHIM_LOG_BUFFER: bytes of the latest lines of all levels and areas that are kept in memory
  /// and written at a failure; 0: none.
  std::size_t buffer_bytes = 0;

  /// Reads the variables above. Fails as parse_log_levels() does.
  [[nodiscard]] static Result<LogSettings> from_environment();

  // The texts are the values of the variables. They fail as parse_log_levels() does.
  [[nodiscard]] Result<void> set_levels(std::string_view text);
  [[nodiscard]] Result<void> set_stderr(std::string_view text);
  [[nodiscard]] Result<void> set_file(std::string_view text);
  [[nodiscard]] Result<void> set_ranks(std::string_view text);
  [[nodiscard]] Result<void> set_buffer(std::string_view text);

  /// Returns the levels that go to the file and to standard error, apart from IMPISHIM_LOG_STDERR.
  [[nodiscard]] LogLevels recorded() const;
  /// Returns the highest level that standard error shows.
  [[nodiscard]] LogLevel shown() const;
};

}  // namespace impishim
