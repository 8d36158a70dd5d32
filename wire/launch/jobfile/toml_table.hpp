// SPDX-License-Identifier: Apache-2.0
/// A table of a TOML file whose keys are read one by one, with errors that name the line.
#pragma once

// Header only, and errors as values: the library that Debian has compiled throws.
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/base/result.hpp"

namespace impishim::launch {

/// Reads the values of one table. The first error is kept; later reads then return nothing. The
/// caller reads all keys that it knows and then calls finish(), which rejects all others.
class TomlTable {
 public:
  /// `file` is the file's name in messages, `where` the name of the table ("[server]").
  TomlTable(const toml::table& table, std::string file, std::string where);

  [[nodiscard]] std::optional<std::string> text(std::string_view key);
  /// Reads one of `words`.
  [[nodiscard]] std::optional<std::string> word(std::string_view key,
                                                const std::vector<std::string>& words);
  [[nodiscard]] std::optional<int> number(std::string_view key, int low, int high);
  [[nodiscard]] std::optional<bool> truth(std::string_view key);
  [[nodiscard]] std::vector<std::string> texts(std::string_view key);
  /// Reads an array of numbers and of texts such as "0-3", each as text.
  [[nodiscard]] std::vector<std::string> texts_or_numbers(std::string_view key);
  /// Reads a table of texts, numbers and truth values, each as text.
  [[nodiscard]] std::map<std::string, std::string> variables(std::string_view key);

  /// Records an error at a key, or at the table if it does not have the key.
  void fail(std::string_view key, const std::string& text);
  /// Fails with the first error, or if the table has a key that has not been read.
  [[nodiscard]] Result<void> finish();

 private:
  [[nodiscard]] const toml::node* find(std::string_view key);
  void fail_at(const toml::node& node, const std::string& text);
  [[nodiscard]] std::vector<std::string> array(std::string_view key, bool numbers);

  const toml::table& table_;
  std::string file_;
  std::string where_;
  std::vector<std::string> known_;
  std::optional<Error> error_;
};

/// Returns "FILE:LINE: TEXT" as an error.
[[nodiscard]] Error toml_error(const std::string& file, const toml::source_region& source,
                               const std::string& text);

}  // namespace impishim::launch
