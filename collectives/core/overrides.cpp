// SPDX-License-Identifier: Apache-2.0
/// Parsing of IMPISHIM_COLLECTIVES, the user's own choice of forms.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "collectives/core/form_table.hpp"
#include "collectives/core/select.hpp"
#include "wire/base/result.hpp"

namespace impishim::collectives {
namespace {

constexpr std::array<std::string_view, kCollectiveCount> kNames{
    "barrier",    "bcast",    "gather",    "gatherv", "scatter",   "scatterv",       "allgather",
    "allgatherv", "alltoall", "alltoallv", "reduce",  "allreduce", "reduce_scatter", "scan"};
constexpr std::array<std::string_view, 9> kFormNames{
    "linear", "tree", "rooted", "chain", "direct", "exchange", "doubling", "scattered", "sliced"};

Error bad(std::string text) {
  return {ErrorKind::kConfiguration, "IMPISHIM_COLLECTIVES: " + std::move(text)};
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> forms_of(Collective collective) {
  std::vector<std::string_view> names;
  for (std::size_t form = 0; form < kFormNames.size(); ++form) {
    if (has_form(collective, static_cast<Form>(form))) names.push_back(kFormNames[form]);
  }
  return names;
}

Result<void> set_number(std::string_view name, std::string_view value, std::uint64_t& number) {
  const char* end = value.data() + value.size();
  const auto [stopped, code] = std::from_chars(value.data(), end, number);
  if (code == std::errc() && stopped == end && number > 0) return {};
  return bad(fmt::format("{}={}: a number of bytes from 1 on is allowed", name, value));
}

Result<void> set_form(std::string_view name, std::string_view value, Overrides& overrides) {
  const auto* const found = std::ranges::find(kNames, name);
  if (found == kNames.end()) {
    return bad(fmt::format("there is no '{}'; allowed are {}, segment, long", name,
                           fmt::join(kNames, ", ")));
  }
  const auto number = static_cast<std::size_t>(found - kNames.begin());
  const auto allowed = forms_of(static_cast<Collective>(number));
  if (std::ranges::find(allowed, value) == allowed.end()) {
    return bad(
        fmt::format("{} has no form '{}'; allowed are {}", name, value, fmt::join(allowed, ", ")));
  }
  overrides.forms[number] =
      static_cast<Form>(std::ranges::find(kFormNames, value) - kFormNames.begin());
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

Result<Overrides> parse_overrides(std::string_view text) {
  Overrides overrides;
  if (trimmed(text).empty()) return overrides;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (auto done = set(trimmed(text.substr(begin, end - begin)), overrides); !done)
      return done.error();
    begin = end + 1;
  }
  return overrides;
}

std::uint64_t fingerprint(const Overrides& overrides, bool as_lam) {
  std::string text = fmt::format("{} {}", overrides.segment, overrides.long_from);
  for (const auto& form : overrides.forms)
    text += form ? fmt::format(" {}", static_cast<int>(*form)) : " -";
  if (as_lam) text += " lam";
  std::uint64_t hash = 14695981039346656037ULL;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

}  // namespace impishim::collectives
