// SPDX-License-Identifier: Apache-2.0
#include "shim/entry/vendor_lookup.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "shim/entry/call_origin.hpp"
#include "wire/base/log.hpp"

namespace impishim::shim {
namespace {

void* find(const char* name, const char* library_name) {
  if (void* found = dlsym(RTLD_NEXT, name); found != nullptr) return found;
  // A vendor's library that was opened with RTLD_LOCAL is loaded (this library needs it), but is
  // not in our search order. The handle is not closed: that would only drop the reference that
  // RTLD_NOLOAD took.
  void* library = library_name == nullptr ? nullptr : dlopen(library_name, RTLD_LAZY | RTLD_NOLOAD);
  return library == nullptr ? nullptr : dlsym(library, name);
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

std::string unfit_vendor() {
  constexpr std::string_view kOpenMpi = "libmpi.so.40";
  Dl_info info{};
  void* const used = dlsym(RTLD_NEXT, "MPI_Init");
  if (used == nullptr || dladdr(used, &info) == 0 || info.dli_fname == nullptr) return {};
  std::string_view name = info.dli_fname;
  name.remove_prefix(name.rfind('/') + 1);  // npos + 1 is 0
  const bool used_open_mpi = name.starts_with(kOpenMpi);
  const bool used_mpich = name.starts_with("libmpich.so") || name.starts_with("libmpi.so.12");
  const bool built_for_open_mpi = std::string_view(IMPISHIM_VENDOR_SONAME).starts_with(kOpenMpi);
  const bool unfit = built_for_open_mpi ? used_mpich : used_open_mpi;
  return unfit ? std::string(name) : std::string();
}

}  // namespace impishim::shim
