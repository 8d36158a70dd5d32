// SPDX-License-Identifier: Apache-2.0
#include "wire/base/log_settings.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "wire/base/printable.hpp"
#include "wire/base/result.hpp"

namespace impishim {
namespace {

constexpr std::array<std::string_view, 4> kLevels = {"error", "warn", "info", "debug"};
constexpr std::array<std::string_view, kLogAreas> kAreas = {
    "startup", "channel", "engine", "relay", "shuffle", "collectives", "shim"};
constexpr std::size_t kMostBuffer = std::size_t{1} << 30U;

Error bad(const char* variable, std::string_view text, std::string_view what) {
  return Error{ErrorKind::kConfiguration,
               fmt::format("{}={}: {}", variable, printable(text), what)};
}

template <class Name, std::size_t kCount>
std::optional<Name> find_name(const std::array<std::string_view, kCount>& names,
                              std::string_view text) {
  const auto* const found = std::ranges::find(names, text);
  if (found == names.end()) return std::nullopt;
  return static_cast<Name>(found - names.begin());
}

/// Calls `take` with each item between commas, until one fails.
template <class Take>
Result<void> for_each_item(std::string_view text, Take&& take) {
  for (;;) {
    const std::size_t comma = text.find(',');
    auto taken = take(text.substr(0, comma));
    if (!taken || comma == std::string_view::npos) return taken;
    text.remove_prefix(comma + 1);
  }
}

/// Takes a number from the beginning of `text`.
std::optional<std::int32_t> take_number(std::string_view& text) {
  std::int32_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || value < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
  return value;
}

}  // namespace

std::string_view name_of(LogLevel level) { return kLevels.at(static_cast<std::size_t>(level)); }
std::string_view name_of(LogArea area) { return kAreas.at(static_cast<std::size_t>(area)); }

Result<LogLevels> parse_log_levels(const char* variable, std::string_view text) {
  LogLevels levels{};
  bool first = true;
  auto read = for_each_item(text, [&](std::string_view item) -> Result<void> {
    const std::size_t equals = item.find('=');
    const std::string_view name = equals == std::string_view::npos ? item : item.substr(equals + 1);
    const auto level = find_name<LogLevel>(kLevels, name);
    if (!level || (equals == std::string_view::npos && !first)) {
      return bad(variable, text,
                 fmt::format("\"{}\" is no level: use {}, or area=level between commas",
                             printable(name), fmt::join(kLevels, ", ")));
    }
    first = false;
    if (equals == std::string_view::npos) {
      levels.fill(*level);
      return {};
    }
    const auto area = find_name<std::size_t>(kAreas, item.substr(0, equals));
    if (!area) {
      return bad(variable, text,
                 fmt::format("\"{}\" is no area: use {}", printable(item.substr(0, equals)),
                             fmt::join(kAreas, ", ")));
    }
    levels.at(*area) = *level;
    return {};
  });
  if (!read) return read.error();
  return levels;
}

Result<RankRanges> RankRanges::parse(const char* variable, std::string_view text) {
  RankRanges ranks;
  auto read = for_each_item(text, [&](std::string_view item) -> Result<void> {
    const auto first = take_number(item);
    std::optional<std::int32_t> last = first;
    if (first && item.starts_with('-')) {
      item.remove_prefix(1);
      last = take_number(item);
    }
    if (!last || *last < *first || !item.empty())
      return bad(variable, text, "world ranks and ranges between commas are needed, as in 0-3,8");
    ranks.ranges_.emplace_back(*first, *last);
    return {};
  });
  if (!read) return read.error();
  return ranks;
}

bool RankRanges::contains(std::int32_t rank) const {
  return ranges_.empty() || std::ranges::any_of(ranges_, [rank](const auto& range) {
           return rank >= range.first && rank <= range.second;
         });
}

Result<void> LogSettings::set_levels(std::string_view text) {
  auto read = parse_log_levels("IMPISHIM_LOG", text);
  if (!read) return read.error();
  levels = *read;
  return {};
}

Result<void> LogSettings::set_stderr(std::string_view text) {
  on_stderr = find_name<LogLevel>(kLevels, text);
  if (on_stderr) return {};
  return bad("IMPISHIM_LOG_STDERR", text, fmt::format("use {}", fmt::join(kLevels, ", ")));
}

Result<void> LogSettings::set_file(std::string_view text) {
  if (text.empty())
    return bad("IMPISHIM_LOG_FILE", text, "the beginning of a file's name is needed");
  file = text;
  return {};
}

Result<void> LogSettings::set_ranks(std::string_view text) {
  auto read = RankRanges::parse("IMPISHIM_LOG_RANKS", text);
  if (!read) return read.error();
  ranks = std::move(*read);
  return {};
}

Result<void> LogSettings::set_buffer(std::string_view text) {
  std::size_t bytes = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), bytes);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || bytes > kMostBuffer)
    return bad("IMPISHIM_LOG_BUFFER", text,
               fmt::format("a number of bytes from 0 to {} is needed", kMostBuffer));
  buffer_bytes = bytes;
  return {};
}

Result<LogSettings> LogSettings::from_environment() {
  LogSettings settings;
  const auto read = [&](const char* name,
                        Result<void> (LogSettings::*set)(std::string_view)) -> Result<void> {
    const char* text = secure_getenv(name);
    return text == nullptr ? Result<void>() : (settings.*set)(text);
  };
  // An empty IMPISHIM_LOG counts as not set, as it always did.
  const char* levels = secure_getenv("IMPISHIM_LOG");
  for (const auto& done :
       {levels == nullptr || *levels == '\0' ? Result<void>() : settings.set_levels(levels),
        read("IMPISHIM_LOG_FILE", &LogSettings::set_file),
        read("IMPISHIM_LOG_STDERR", &LogSettings::set_stderr),
        read("IMPISHIM_LOG_RANKS", &LogSettings::set_ranks),
        read("IMPISHIM_LOG_BUFFER", &LogSettings::set_buffer)}) {
    if (!done) return done.error();
  }
  return settings;
}

LogLevels LogSettings::recorded() const {
  if (levels) return *levels;
  LogLevels all{};
  all.fill(file.empty() ? LogLevel::kError : LogLevel::kInfo);
  return all;
}

LogLevel LogSettings::shown() const {
  return on_stderr.value_or(file.empty() ? LogLevel::kDebug : LogLevel::kError);
}

}  // namespace impishim
