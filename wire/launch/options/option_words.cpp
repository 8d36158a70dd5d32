// SPDX-License-Identifier: Apache-2.0
#include "wire/launch/options/option_words.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/launch/options/option_definitions.hpp"
#include "wire/launch/options/option_text.hpp"
#include "wire/launch/options/section.hpp"

namespace impishim::launch {
namespace {

Error configuration(std::string text) { return Error{ErrorKind::kConfiguration, std::move(text)}; }

const CLI::Option* find_option(const CLI::App& app, const std::string& name) {
  return app.get_option_no_throw(name.size() == 1 ? "-" + name : "--" + name);
}

/// Returns the value of a variable, or an error if it may not stand on a command line.
Result<Variable> make_variable(const std::string& option, std::string name,
                               std::optional<std::string> value) {
  if (name.empty() || name.find('=') != std::string::npos)
    return configuration(fmt::format("-{} {}: the name of a variable is needed", option, name));
  if (value && is_secret(name)) {
    return configuration(
        fmt::format("-{} {}: every user of a machine can read its command lines; set {} in "
                    "impirun's environment, or {}_FILE",
                    option, name, name, name));
  }
  return Variable{std::move(name), std::move(value)};
}

/// Stores the values of an option that CLI11 does not convert. Returns false if it is none.
Result<bool> keep_values(const std::string& name, const std::vector<std::string>& values,
                         OptionValues& kept) {
  if (name == kLauncherArguments) {
    kept.launcher_arguments.insert(kept.launcher_arguments.end(), values.begin(), values.end());
    return true;
  }
  if (name == "env" || name == "genv") {
    auto variable = make_variable(name, values[0], values[1]);
    if (!variable) return variable.error();
    (name == "env" ? kept.environment : kept.job_environment).push_back(std::move(*variable));
    return true;
  }
  if (name != "x") return false;
  const auto equals = values[0].find('=');
  auto variable = make_variable(name, values[0].substr(0, equals),
                                equals == std::string::npos
                                    ? std::nullopt
                                    : std::optional<std::string>(values[0].substr(equals + 1)));
  if (!variable) return variable.error();
  kept.environment.push_back(std::move(*variable));
  return true;
}

/// Returns the words that follow an option, and moves `at` to the last of them.
Result<std::vector<std::string>> take_values(const CLI::Option& option, const std::string& name,
                                             const std::vector<std::string>& words,
                                             std::size_t& at) {
  std::vector<std::string> values;
  if (name == kLauncherArguments) {
    while (++at < words.size()) {
      if (words[at] == "--") return values;
      values.push_back(words[at]);
    }
    return configuration(fmt::format("-{} needs -- behind the launcher's words", name));
  }
  const std::size_t count = value_count(option);
  for (std::size_t i = 0; i < count; ++i) {
    if (++at >= words.size())
      return configuration(fmt::format("-{} needs {} argument(s)", name, count));
    values.push_back(words[at]);
  }
  return values;
}

/// Converts and checks what the options have been given.
Result<void> convert(CLI::App& app) {
  try {
    for (CLI::Option* option : app.get_options()) {
      if (option->count() > 0) option->run_callback();
    }
  } catch (const CLI::ParseError& error) {
    std::string text = error.what();
    if (text.rfind("--", 0) == 0)
      text.erase(0, 1);  // all texts for users show options with one dash
    return configuration(fmt::format("{}; see impirun -help", text));
  }
  return {};
}

}  // namespace

std::optional<std::string> option_name(const std::string& word) {
  if (word.size() < 2 || word[0] != '-' || word == "--") return std::nullopt;
  return word.substr(word[1] == '-' ? 2 : 1);
}

bool is_option(const std::string& name) {
  CLI::App app;
  OptionValues values;
  define_options(app, values);
  return find_option(app, name) != nullptr;
}

std::string group_of(const std::string& name) {
  CLI::App app;
  OptionValues values;
  define_options(app, values);
  const CLI::Option* option = find_option(app, name);
  return option == nullptr ? "" : option->get_group();
}

Result<ParsedOptions> parse_options(const std::vector<std::string>& words, std::size_t begin) {
  ParsedOptions parsed;
  CLI::App app;
  define_options(app, parsed.values);
  std::size_t at = begin;
  for (; at < words.size(); ++at) {
    const auto written = option_name(words[at]);
    if (!written) break;
    const CLI::Option* found = find_option(app, *written);
    if (found == nullptr)
      return configuration(fmt::format("unknown option {}; see impirun -help", words[at]));
    CLI::Option* option = app.get_option(found->get_name());
    const std::string name = main_name(*option);
    auto values = take_values(*option, name, words, at);
    if (!values) return values.error();
    parsed.given.push_back(name);
    auto kept = keep_values(name, *values, parsed.values);
    if (!kept) return kept.error();
    if (*kept) continue;
    if (option->count() > 0 && !values->empty())
      return configuration(fmt::format("-{} is given twice: which one counts?", name));
    option->add_result(values->empty() ? std::vector<std::string>{"true"} : *values);
  }
  parsed.program = at;
  auto converted = convert(app);
  if (!converted) return converted.error();
  return parsed;
}

}  // namespace impishim::launch
