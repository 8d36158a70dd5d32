// SPDX-License-Identifier: Apache-2.0
#include "wire/launch/jobfile/toml_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/base/printable.hpp"
#include "wire/base/result.hpp"

namespace impishim::launch {
namespace {

/// Returns a text, number or truth value as text, or nothing for other values and for texts that no
/// argument of a program can hold.
std::optional<std::string> as_text(const toml::node& node) {
  if (const auto text = node.value_exact<std::string>();
      text && text->find('\0') == std::string::npos)
    return text;
  if (const auto number = node.value_exact<std::int64_t>()) return std::to_string(*number);
  if (const auto truth = node.value_exact<bool>()) return *truth ? "true" : "false";
  return std::nullopt;
}

}  // namespace

Error toml_error(const std::string& file, const toml::source_region& source,
                 const std::string& text) {
  return Error{ErrorKind::kConfiguration,
               fmt::format("{}:{}: {}", file, static_cast<unsigned>(source.begin.line), text)};
}

TomlTable::TomlTable(const toml::table& table, std::string file, std::string where)
    : table_(table), file_(std::move(file)), where_(std::move(where)) {}

void TomlTable::fail_at(const toml::node& node, const std::string& text) {
  if (!error_) error_ = toml_error(file_, node.source(), text);
}

void TomlTable::fail(std::string_view key, const std::string& text) {
  const toml::node* node = table_.get(key);
  fail_at(node == nullptr ? static_cast<const toml::node&>(table_) : *node, text);
}

const toml::node* TomlTable::find(std::string_view key) {
  known_.emplace_back(key);
  return error_ ? nullptr : table_.get(key);
}

std::optional<std::string> TomlTable::text(std::string_view key) {
  const toml::node* node = find(key);
  if (node == nullptr) return std::nullopt;
  auto text = node->value_exact<std::string>();
  if (!text || text->empty() || text->find('\0') != std::string::npos) {
    fail_at(*node, fmt::format("{} needs a text in quotes, which is not empty", key));
    return std::nullopt;
  }
  return text;
}

std::optional<std::string> TomlTable::word(std::string_view key,
                                           const std::vector<std::string>& words) {
  auto given = text(key);
  if (!given || std::find(words.begin(), words.end(), *given) != words.end()) return given;
  fail(key,
       fmt::format("{} = \"{}\" is none of {}", key, printable(*given), fmt::join(words, ", ")));
  return std::nullopt;
}

std::optional<int> TomlTable::number(std::string_view key, int low, int high) {
  const toml::node* node = find(key);
  if (node == nullptr) return std::nullopt;
  const auto number = node->value_exact<std::int64_t>();
  if (number && *number >= low && *number <= high) return static_cast<int>(*number);
  fail_at(*node, fmt::format("{} needs a number from {} to {}, without quotes", key, low, high));
  return std::nullopt;
}

std::optional<bool> TomlTable::truth(std::string_view key) {
  const toml::node* node = find(key);
  if (node == nullptr) return std::nullopt;
  const auto truth = node->value_exact<bool>();
  if (!truth) fail_at(*node, fmt::format("{} needs true or false, without quotes", key));
  return truth;
}

std::vector<std::string> TomlTable::array(std::string_view key, bool numbers) {
  const toml::node* node = find(key);
  std::vector<std::string> texts;
  if (node == nullptr) return texts;
  const toml::array* values = node->as_array();
  if (values == nullptr) {
    fail_at(*node, fmt::format("{} needs an array: {} = [...]", key, key));
    return texts;
  }
  for (const toml::node& value : *values) {
    auto text = value.is_string() || numbers ? as_text(value) : std::nullopt;
    if (!text) {
      fail_at(value, numbers ? fmt::format("{} may hold numbers and texts only", key)
                             : fmt::format("{} may hold texts in quotes only", key));
      return {};
    }
    texts.push_back(std::move(*text));
  }
  return texts;
}

std::vector<std::string> TomlTable::texts(std::string_view key) { return array(key, false); }

std::vector<std::string> TomlTable::texts_or_numbers(std::string_view key) {
  return array(key, true);
}

std::map<std::string, std::string> TomlTable::variables(std::string_view key) {
  const toml::node* node = find(key);
  std::map<std::string, std::string> variables;
  if (node == nullptr) return variables;
  const toml::table* table = node->as_table();
  if (table == nullptr) {
    fail_at(*node, fmt::format("{} needs a table: {} = {{NAME = \"value\"}}", key, key));
    return variables;
  }
  for (const auto& [name, value] : *table) {
    auto text = as_text(value);
    const std::string variable(name.str());
    if (!text) {
      fail_at(value, fmt::format("{}: a variable's value is a text in quotes or a number",
                                 printable(variable)));
      return {};
    }
    if (variable.empty() ||
        variable.find_first_of(std::string_view("=\0", 2)) != std::string::npos) {
      fail_at(value, fmt::format("\"{}\" is not the name of a variable", printable(variable)));
      return {};
    }
    variables.emplace(variable, std::move(*text));
  }
  return variables;
}

Result<void> TomlTable::finish() {
  if (error_) return *error_;
  for (const auto& [key, value] : table_) {
    const std::string name(key.str());
    if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
    return toml_error(file_, key.source(),
                      fmt::format("{} has no key \"{}\"; it may have {}", where_, printable(name),
                                  fmt::join(known_, ", ")));
  }
  return {};
}

}  // namespace impishim::launch
