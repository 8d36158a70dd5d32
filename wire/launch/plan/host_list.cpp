// SPDX-License-Identifier: Apache-2.0
#include "wire/launch/plan/host_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <istream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/base/printable.hpp"
#include "wire/base/result.hpp"
#include "wire/base/variable.hpp"

namespace impishim::launch {
namespace {

Error configuration(std::string text) { return Error{ErrorKind::kConfiguration, std::move(text)}; }

std::optional<int> positive(std::string_view text) {
  const auto value = parse_number<int>(std::string(text).c_str());
  return value && *value >= 1 ? value : std::nullopt;
}

/// Parses "name" or "name:N". IPv6 addresses have more than one colon, and no count.
Result<HostEntry> parse_host(std::string_view text) {
  HostEntry host{std::string(text), 0};
  const auto colon = text.find(':');
  if (colon != std::string_view::npos && text.find(':', colon + 1) == std::string_view::npos) {
    const auto count = positive(text.substr(colon + 1));
    if (!count)
      return configuration(
          fmt::format("{}: behind the colon a number of processes is needed", printable(text)));
    host = {std::string(text.substr(0, colon)), *count};
  }
  if (host.name.empty() || host.name[0] == '-')
    return configuration(fmt::format("\"{}\" is not the name of a host", printable(text)));
  return host;
}

/// Parses a line of a file; it has at least one word.
Result<HostEntry> parse_line(std::istringstream& words) {
  std::string word;
  words >> word;
  auto host = parse_host(word);
  if (!host) return host;
  while (words >> word) {
    const auto count = word.rfind("slots=", 0) == 0 ? positive(word.substr(6)) : std::nullopt;
    if (!count)
      return configuration(fmt::format(
          "{}: only slots=N may follow the name; give a file in your launcher's own form "
          "behind -mpiexec-args, up to --",
          printable(word)));
    host->processes = *count;
  }
  return host;
}

}  // namespace

Result<std::vector<HostEntry>> parse_host_list(std::string_view text) {
  std::vector<HostEntry> hosts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto comma = std::min(text.find(',', begin), text.size());
    auto host = parse_host(text.substr(begin, comma - begin));
    if (!host)
      return configuration(fmt::format("-hosts {}: {}", printable(text), host.error().text));
    hosts.push_back(*host);
    begin = comma + 1;
  }
  return hosts;
}

Result<std::vector<HostEntry>> read_host_file(const std::string& path) {
  std::ifstream file(path);
  std::vector<HostEntry> hosts;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    std::istringstream words(line.substr(0, line.find('#')));
    if (!(words >> std::ws).good()) continue;
    auto host = parse_line(words);
    if (!host)
      return configuration(fmt::format("-hostfile {}:{}: {}", path, number, host.error().text));
    hosts.push_back(*host);
  }
  if (!file.eof())
    return configuration(fmt::format("-hostfile {}: {}", path, std::strerror(errno)));
  if (hosts.empty())
    return configuration(
        fmt::format("-hostfile {}: it names no host; a line is a host's name", path));
  return hosts;
}

std::string host_list_text(const std::vector<HostEntry>& hosts) {
  std::string text;
  for (const HostEntry& host : hosts) {
    if (!text.empty()) text += ',';
    text += host.processes == 0 ? host.name : fmt::format("{}:{}", host.name, host.processes);
  }
  return text;
}

}  // namespace impishim::launch
