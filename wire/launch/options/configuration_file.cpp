// SPDX-License-Identifier: Apache-2.0
#include "wire/launch/options/configuration_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/launch/options/shell_words.hpp"

namespace impishim::launch {

Result<std::vector<std::string>> read_configuration_file(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> words;
  std::string line;
  std::string logical;
  for (int number = 1; std::getline(file, line); ++number) {
    const auto first = line.find_first_not_of(" \t");
    if (logical.empty() && (first == std::string::npos || line[first] == '#')) continue;
    if (!line.empty() && line.back() == '\\') {
      logical += line.substr(0, line.size() - 1) + " ";
      continue;
    }
    auto section = split_words(logical + line);
    logical.clear();
    if (!section)
      return Error{section.error().kind,
                   fmt::format("-configfile {}:{}: {}", path, number, section.error().text)};
    if (section->empty()) continue;
    if (!words.empty()) words.emplace_back(":");
    words.insert(words.end(), section->begin(), section->end());
  }
  if (file.bad() || !file.eof())
    return Error{ErrorKind::kConfiguration,
                 fmt::format("-configfile {}: {}", path, std::strerror(errno))};
  if (!logical.empty())
    return Error{
        ErrorKind::kConfiguration,
        fmt::format("-configfile {}: its last line ends with \\, and no line follows", path)};
  if (words.empty())
    return Error{
        ErrorKind::kConfiguration,
        fmt::format("-configfile {}: it has no section; a line is one, such as: -np 2 ./a", path)};
  return words;
}

}  // namespace impishim::launch
