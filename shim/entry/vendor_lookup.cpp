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
#include "shim/values/mpi_library.hpp"
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

/// Opens the library that has the vendor's PMPI_ names, from the vendor's own folder: the program
/// need not have loaded it, and may find it by no search path.
void* open_apart(const char* library_name) {
  Dl_info info{};
  const void* const function = find("MPI_Init", IMPISHIM_VENDOR_SONAME);
  if (function == nullptr || dladdr(function, &info) == 0 || info.dli_fname == nullptr)
    return nullptr;
  const std::string_view vendor = info.dli_fname;
  const std::string beside =
      std::string(vendor.substr(0, vendor.rfind('/') + 1)) + library_name;  // npos + 1: 0
  void* const library = dlopen(beside.c_str(), RTLD_LAZY | RTLD_LOCAL);
  return library != nullptr ? library : dlopen(library_name, RTLD_LAZY | RTLD_LOCAL);
}

/// Looks a PMPI_ name up where the vendor keeps them apart from the MPI_ names, as MPICH does for
/// the standard ABI.
void* find_apart(const char* name) {
  constexpr std::string_view kLibrary = IMPISHIM_VENDOR_PMPI_SONAME;
  if constexpr (kLibrary.empty()) return nullptr;
  // The handle is not closed: the functions are used until the process ends.
  static void* const library = open_apart(kLibrary.data());
  return library == nullptr ? nullptr : dlsym(library, name);
}

}  // namespace

void* resolve(const char* name) {
  if (void* found = find(name, IMPISHIM_VENDOR_SONAME); found != nullptr) return found;
  if (void* found = find_apart(name); found != nullptr) return found;
  // A few functions exist under one name only: "PMPI_X" without its P.
  if (void* found = find(name + 1, IMPISHIM_VENDOR_SONAME); found != nullptr) return found;
  log(LogArea::kShim, LogLevel::kError,
      "the MPI library has no function {}: is this libimpishim.so built for it? It was built "
      "for " IMPISHIM_VENDOR_SONAME,
      name + 1);
  std::abort();
}

void* resolve_fortran(const char* name) {
  if (void* found = find(name, fortran_layer_path()); found != nullptr) return found;
  log(LogArea::kShim, LogLevel::kError,
      "the MPI's Fortran library has no function {}: is this libimpishim.so built for it?", name);
  std::abort();
}

std::string unfit_vendor() {
  Dl_info info{};
  void* const used = dlsym(RTLD_NEXT, "MPI_Init");
  if (used == nullptr || dladdr(used, &info) == 0 || info.dli_fname == nullptr) return {};
  std::string_view name = info.dli_fname;
  name.remove_prefix(name.rfind('/') + 1);  // npos + 1 is 0
  const std::string_view mpi = mpi_of_library(name);
  return mpi.empty() || mpi == mpi_of_library(IMPISHIM_VENDOR_SONAME) ? std::string()
                                                                      : std::string(name);
}

}  // namespace impishim::shim
