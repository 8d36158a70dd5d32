// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

#include "wire/base/result.hpp"
#include "wire/fabric/fabric.hpp"
#include "wire/fabric/fabric_library.hpp"

namespace impishim::wire {
namespace {

/// The providers that `auto` considers, best first, and the folder in which Linux shows their
/// hardware.
struct Candidate {
  const char* provider;
  const char* devices;
};
constexpr std::array kCandidates = {
    Candidate{"cxi", "/sys/class/cxi"},
    Candidate{"efa", "/sys/class/infiniband"},
    Candidate{"verbs;ofi_rxm", "/sys/class/infiniband"},
};

bool has_entries(const char* directory) {
  DIR* opened = opendir(directory);
  if (opened == nullptr) return false;
  bool found = false;
  while (const dirent* entry = readdir(opened)) found = found || entry->d_name[0] != '.';
  closedir(opened);
  return found;
}

std::string full_name(const FabricInfo& info) { return info->fabric_attr->prov_name; }

Error not_there(const FabricLibrary& library, const std::string& name) {
  std::set<std::string> names;
  if (auto all = find_fabric(library, "", ""); all) {
    for (const fi_info* each = all->get(); each != nullptr; each = each->next)
      names.insert(each->fabric_attr->prov_name);
  }
  return Error{ErrorKind::kConfiguration,
               fmt::format("IMPISHIM_FABRIC: libfabric has no provider {} on this machine; it has "
                           "{}; or use auto or none",
                           name, fmt::join(names, ", "))};
}

Result<std::vector<std::string>> hardware_providers() {
  std::vector<std::string> names;
  for (const Candidate& candidate : kCandidates) {
    if (!has_entries(candidate.devices)) continue;
    auto library = FabricLibrary::load();
    if (!library) return names;  // libfabric was not requested, so its absence is no error
    if (auto info = find_fabric(**library, candidate.provider, ""); info)
      names.push_back(full_name(*info));
  }
  return names;
}

}  // namespace

Result<std::vector<std::string>> usable_providers(const FabricChoice& choice) {
  const SignalsKept kept;
  if (choice.automatic) return hardware_providers();
  std::vector<std::string> names;
  if (choice.wanted.empty()) return names;
  auto library = FabricLibrary::load();
  if (!library) return library.error();
  for (const std::string& name : choice.wanted) {
    auto info = find_fabric(**library, name, "");
    if (!info) return not_there(**library, name);
    if (name != kLocalProvider) names.push_back(full_name(*info));
  }
  return names;
}

}  // namespace impishim::wire
