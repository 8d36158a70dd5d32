// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>

#include "wire/base/result.hpp"
#include "wire/fabric/fabric.hpp"

namespace impishim::wire {

Result<FabricChoice> FabricChoice::parse(const std::string& text) {
  FabricChoice choice;
  if (text == "auto") return choice;
  choice.automatic = false;
  if (text == "none") return choice;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string name = text.substr(begin, end - begin);
    const bool is_name =
        !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char letter) {
          return std::isalnum(letter) != 0 || letter == '_' || letter == ';' || letter == '-';
        });
    if (!is_name || name == "auto" || name == "none") {
      return Error{ErrorKind::kConfiguration,
                   fmt::format("IMPISHIM_FABRIC={}: use auto (default), none, or libfabric's names "
                               "of providers between commas",
                               text)};
    }
    choice.wanted.push_back(name);
    begin = end + 1;
  }
  return choice;
}

bool FabricChoice::local() const {
  return std::find(wanted.begin(), wanted.end(), kLocalProvider) != wanted.end();
}

}  // namespace impishim::wire
