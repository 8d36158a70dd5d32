// SPDX-License-Identifier: Apache-2.0
// MPI_Get_library_version (MPI-4.0 9.1.1).
#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "shim/entry_points.hpp"
#include "shim/handle/inside_vendor.hpp"
#include "shim/job/job.hpp"
#include "shim/job/process_models.hpp"
#include "shim/vendor.hpp"

namespace impishim::shim {
namespace {

/// Returns true if this process has joined a job, or is to join one: the function may be called
/// before MPI_Init and after MPI_Finalize.
bool belongs_to_joined_job() { return the_job.load() != nullptr || asks_to_join(); }

/// Returns the vendor's text with this library's name and version at its end. Programs tell MPI
/// libraries apart by the beginning. If both do not fit in `limit` bytes, the vendor's text is cut.
std::string with_own_version(std::string_view vendors, std::size_t limit) {
  constexpr std::string_view kOwn = "impishim " IMPISHIM_VERSION;
  while (vendors.ends_with('\n')) vendors.remove_suffix(1);
  const std::string_view separator = vendors.find('\n') == std::string_view::npos ? "; " : "\n";
  const std::size_t rest = limit - kOwn.size() - separator.size();
  return std::string(vendors.substr(0, std::min(vendors.size(), rest)))
      .append(separator)
      .append(kOwn);
}

}  // namespace

namespace calls {

int Get_library_version(char* version, int* resultlen) {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> vendors{};
  int length = 0;
  if (vendor_depth.value() != 0 || !belongs_to_joined_job())
    return vendor::raw::Get_library_version(version, resultlen);
  const int code = vendor::Get_library_version(vendors.data(), &length);
  if (code != MPI_SUCCESS) return code;
  // Open MPI 4.1.4 counts the terminating zero, too.
  const std::string both = with_own_version(vendors.data(), vendors.size() - 1);
  both.copy(version, both.size());
  version[both.size()] = '\0';
  *resultlen = static_cast<int>(both.size());
  return MPI_SUCCESS;
}

}  // namespace calls
}  // namespace impishim::shim
