// SPDX-License-Identifier: Apache-2.0
/// Parsing of IMPISHIM_COLLECTIVES, the user's own choice of forms.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "collectives/core/form_table.hpp"
#include "collectives/core/select.hpp"
#include "wire/base/hash.hpp"
#include "wire/base/result.hpp"

namespace impishim::collectives {
namespace {

constexpr std::array<std::string_view, kCollectiveCount> kNames{
    "barrier",    "bcast",    "gather",    "gatherv", "scatter",   "scatterv",       "allgather",
    "allgatherv", "alltoall", "alltoallv", "reduce",  "allreduce", "reduce_scatter", "scan"};
constexpr std::array<std::string_view, 10> kFormNames{"linear", "tree",     "rooted",   "chain",
                                                      "direct", "exchange", "doubling", "scattered",
                                                      "sliced", "pipeline"};

/// Stands for the table's own choice.
constexpr std::string_view kDefault = "default";

Error bad(std::string text) {
  return {ErrorKind::kConfiguration, "IMPISHIM_COLLECTIVES: " + std::move(text)};
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  while (!text.empty() && kSpace.find(text.front()) != std::string_view::npos)
    text.remove_prefix(1);
  while (!text.empty() && kSpace.find(text.back()) != std::string_view::npos) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> forms_of(Collective collective) {
  std::vector<std::string_view> names;
  for (std::size_t form = 0; form < kFormNames.size(); ++form) {
    if (has_form(collective, static_cast<Form>(form))) names.push_back(kFormNames[form]);
  }
  return names;
}

bool parse_bytes(std::string_view text, std::uint64_t& number) {
  const char* end = text.data() + text.size();
  const auto [stopped, code] = std::from_chars(text.data(), end, number);
  return code == std::errc() && stopped == end;
}

Result<void> set_number(std::string_view name, std::string_view value, std::uint64_t& number) {
  if (parse_bytes(value, number) && number > 0) return {};
  return bad(fmt::format("{}={}: a number of bytes from 1 on is allowed", name, value));
}

/// Adds a form in the order of sizes. A later item for the same size replaces an earlier one.
void add(std::vector<ChosenForm>& forms, const ChosenForm& chosen) {
  const auto place = std::ranges::lower_bound(forms, chosen.from, {}, &ChosenForm::from);
  if (place != forms.end() && place->from == chosen.from) {
    *place = chosen;
  } else {
    forms.insert(place, chosen);
  }
}

Result<void> set_form(std::string_view key, std::string_view value, Overrides& overrides) {
  const std::size_t at = key.find('@');
  const std::string_view name = key.substr(0, at);
  ChosenForm chosen;
  if (at != std::string_view::npos && !parse_bytes(key.substr(at + 1), chosen.from))
    return bad(fmt::format("{}={}: a number of bytes is needed behind the @", key, value));
  const auto* const found = std::ranges::find(kNames, name);
  if (found == kNames.end()) {
    return bad(fmt::format("there is no '{}'; allowed are {}, segment, long", name,
                           fmt::join(kNames, ", ")));
  }
  const auto number = static_cast<std::size_t>(found - kNames.begin());
  if (value == kDefault) {
    add(overrides.forms[number], chosen);
    return {};
  }
  const auto allowed = forms_of(static_cast<Collective>(number));
  if (std::ranges::find(allowed, value) == allowed.end()) {
    return bad(fmt::format("{} has no form '{}'; allowed are {}, {}", name, value,
                           fmt::join(allowed, ", "), kDefault));
  }
  chosen.form = static_cast<Form>(std::ranges::find(kFormNames, value) - kFormNames.begin());
  add(overrides.forms[number], chosen);
  return {};
}

Result<void> set(std::string_view item, Overrides& overrides) {
  const std::size_t equals = item.find('=');
  if (equals == std::string_view::npos)
    return bad(fmt::format("'{}' is not of the form name=value", item));
  const std::string_view name = trimmed(item.substr(0, equals));
  const std::string_view value = trimmed(item.substr(equals + 1));
  if (name == "segment") return set_number(name, value, overrides.segment);
  if (name == "long") return set_number(name, value, overrides.long_from);
  return set_form(name, value, overrides);
}

}  // namespace

std::optional<Form> Overrides::form(Collective collective, std::uint64_t bytes) const {
  std::optional<Form> found;
  for (const ChosenForm& each : forms[static_cast<std::size_t>(collective)]) {
    if (each.from <= bytes) found = each.form;
  }
  return found;
}

namespace {

/// Sets the items of one line.
Result<void> set_line(std::string_view line, Overrides& overrides) {
  const std::string_view items = trimmed(line.substr(0, line.find('#')));
  if (items.empty()) return {};
  for (std::size_t begin = 0; begin <= items.size();) {
    const std::size_t end = std::min(items.find(',', begin), items.size());
    if (auto done = set(trimmed(items.substr(begin, end - begin)), overrides); !done) return done;
    begin = end + 1;
  }
  return {};
}

}  // namespace

Result<Overrides> parse_overrides(std::string_view text) {
  Overrides overrides;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (auto done = set_line(text.substr(begin, end - begin), overrides); !done)
      return done.error();
    begin = end + 1;
  }
  return overrides;
}

Result<Overrides> read_overrides(const std::string& value) {
  if (!value.starts_with('@')) return parse_overrides(value);
  const std::string path = value.substr(1);
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file.is_open() || file.bad())
    return bad(fmt::format("the file {} cannot be read: {}", path, std::strerror(errno)));
  auto parsed = parse_overrides(text);
  if (!parsed) return Error{parsed.error().kind, fmt::format("{} ({})", parsed.error().text, path)};
  return parsed;
}

std::uint64_t fingerprint(const Overrides& overrides, bool as_lam) {
  std::string text = fmt::format("{} {}", overrides.segment, overrides.long_from);
  for (const auto& forms : overrides.forms) {
    text += " -";
    for (const ChosenForm& each : forms)
      text += fmt::format(" {} from {}", each.form ? static_cast<int>(*each.form) : -1, each.from);
  }
  if (as_lam) text += " lam";
  return fnv1a(text);
}

}  // namespace impishim::collectives
