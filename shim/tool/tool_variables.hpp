// SPDX-License-Identifier: Apache-2.0
/// What this library shows to tools: settings as control variables, statistics as performance
/// variables, and the categories that hold them (docs/user-guide.md, Tools).
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "wire/peer/engine_counters.hpp"
#include "wire/topology/job_map.hpp"

namespace impishim::shim {

/// The words that a setting may have, as an enumeration; the value of a word is its place.
struct ToolWords {
  const char* name;
  std::span<const char* const> words;
};

/// A setting: a variable of the environment, and how tools see it.
struct ToolSetting {
  const char* name;
  const char* variable;
  const char* description;
  MPI_Datatype type;       ///< MPI_UNSIGNED_LONG_LONG; MPI_INT of a word; MPI_CHAR of a text
  const ToolWords* words;  ///< null if the setting is no word
  std::uint64_t standard;  ///< the value, or the word's place, where the variable is not set
  /// Where the value comes from once the systems have agreed on one; null: from the environment.
  std::uint32_t wire::NegotiatedValues::*agreed;
};

/// The longest text that a setting can show, with its null character.
inline constexpr int kLongestToolText = 256;

/// A count or a peak of the engine.
struct ToolStatistic {
  const char* name;
  const char* description;
  bool is_peak;  ///< of the whole job, always active and never reset
  std::uint64_t (*value)(const wire::EngineCounters& counters);
};

struct ToolCategory {
  const char* name;
  const char* description;
  bool has_settings;
  bool has_statistics;
  int subcategories;  ///< which follow it in the table
};

[[nodiscard]] std::span<const ToolSetting> tool_settings();
[[nodiscard]] std::span<const ToolStatistic> tool_statistics();
[[nodiscard]] std::span<const ToolCategory> tool_categories();

/// Returns the enumeration behind a handle, or null if the handle is the vendor's.
[[nodiscard]] const ToolWords* tool_words(MPI_T_enum handle);
/// Returns the handle of an enumeration; MPI_T_ENUM_NULL for null.
[[nodiscard]] MPI_T_enum tool_enum(const ToolWords* words);

/// A setting's value in this process.
struct ToolValue {
  std::uint64_t number = 0;
  std::string text;
};

/// Reads a setting from the environment. The value of a variable that MPI_Init would reject is the
/// standard one.
[[nodiscard]] ToolValue read_setting(const ToolSetting& setting);

}  // namespace impishim::shim
