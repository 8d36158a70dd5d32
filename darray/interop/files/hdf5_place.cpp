// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string_view>

#include "darray/interop/files/hdf5.hpp"

namespace impishim::darray::file::hdf5 {

std::optional<Place> place_of(const std::string& path) {
  constexpr std::string_view kUnnamed = "data";
  constexpr std::array<std::string_view, 2> kExtensions{".h5", ".hdf5"};
  for (const std::string_view extension : kExtensions) {
    if (path.ends_with(extension)) return Place{path, std::string(kUnnamed)};
    const std::size_t at = path.find(std::string(extension) + ':');
    if (at == std::string::npos) continue;
    const std::size_t colon = at + extension.size();
    if (colon + 1 == path.size())
      fail(ErrorKind::kArgument, "{}: no dataset's name after the colon", path);
    return Place{path.substr(0, colon), path.substr(colon + 1)};
  }
  return std::nullopt;
}

}  // namespace impishim::darray::file::hdf5
