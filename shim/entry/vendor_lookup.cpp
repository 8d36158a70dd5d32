// SPDX-License-Identifier: Apache-2.0
#include "shim/entry/vendor_lookup.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "shim/entry/call_origin.hpp"
#include "wire/base/log.hpp"

namespace impishim::shim {
namespace {

/// Returns the address of the first byte of the loaded object that contains `address`.
const void* object_of(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) == 0 ? nullptr : info.dli_fbase;
}

bool is_own(const void* address) {
  static const char own = 0;
  return object_of(address) == object_of(&own);
}

/// Looks `name` up in a loaded library and those that it needs. Returns null if it finds a
/// definition of this library's.
void* find_in(const char* library_name, const char* name) {
  // The handle is not closed: that would only drop the reference that RTLD_NOLOAD took.
  void* library = dlopen(library_name, RTLD_LAZY | RTLD_NOLOAD);
  void* found = library == nullptr ? nullptr : dlsym(library, name);
  return found != nullptr && is_own(found) ? nullptr : found;
}

int add_path(dl_phdr_info* object, std::size_t /*size*/, void* paths) {
  static_cast<std::vector<std::string>*>(paths)->emplace_back(object->dlpi_name);
  return 0;
}

/// Looks `name` up in all loaded files of this name. Two have the vendor's name if the program
/// opens it by handle (by_handle.c).
void* find_in_all(std::string_view library_name, const char* name) {
  std::vector<std::string> paths;
  dl_iterate_phdr(add_path, &paths);
  for (const std::string& path : paths) {
    const std::string_view file =
        std::string_view(path).substr(path.rfind('/') + 1);  // npos + 1: 0
    if (!file.starts_with(library_name)) continue;
    if (void* found = find_in(path.c_str(), name); found != nullptr) return found;
  }
  return nullptr;
}

void* find(const char* name, const char* library_name) {
  void* found = dlsym(RTLD_NEXT, name);
  if (found != nullptr && !is_own(found)) return found;
  // A vendor's library that was opened with RTLD_LOCAL is loaded (this library needs it), but is
  // not in our search order.
  if (library_name == nullptr) return nullptr;
  found = find_in(library_name, name);
  return found == nullptr ? find_in_all(library_name, name) : found;
}

}  // namespace

void* resolve(const char* name) {
  if (void* found = find(name, IMPISHIM_VENDOR_SONAME); found != nullptr) return found;
  // A few functions exist under one name only: "PMPI_X" without its P.
  if (void* found = find(name + 1, IMPISHIM_VENDOR_SONAME); found != nullptr) return found;
  log(LogLevel::kError,
      "the MPI library has no function {}: is this libimpishim.so built for it? It was built "
      "for " IMPISHIM_VENDOR_SONAME,
      name + 1);
  std::abort();
}

void* resolve_fortran(const char* name) {
  if (void* found = find(name, fortran_layer_path()); found != nullptr) return found;
  log(LogLevel::kError,
      "the MPI's Fortran library has no function {}: is this libimpishim.so built for it?", name);
  std::abort();
}

bool is_mpich(std::string_view library) {
  return library.starts_with("libmpich.so") || library.starts_with("libmpi.so.12");
}

std::string unfit_vendor() {
  constexpr std::string_view kOpenMpi = "libmpi.so.40";
  Dl_info info{};
  void* const used = dlsym(RTLD_NEXT, "MPI_Init");
  if (used == nullptr || dladdr(used, &info) == 0 || info.dli_fname == nullptr) return {};
  std::string_view name = info.dli_fname;
  name.remove_prefix(name.rfind('/') + 1);  // npos + 1 is 0
  const bool built_for_open_mpi = std::string_view(IMPISHIM_VENDOR_SONAME).starts_with(kOpenMpi);
  const bool unfit = built_for_open_mpi ? is_mpich(name) : name.starts_with(kOpenMpi);
  return unfit ? std::string(name) : std::string();
}

}  // namespace impishim::shim
