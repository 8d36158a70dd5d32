#include "shim/resolve.hpp"

#include <dlfcn.h>

#include <cstdlib>

#include "shim/caller.hpp"
#include "wire/base/log.hpp"

namespace impishim::shim {
namespace {

void* find(const char* name, const char* library_name) {
  if (void* found = dlsym(RTLD_NEXT, name); found != nullptr) return found;
  // Opened with RTLD_LOCAL, the vendor's library is loaded (this library needs it) but not in our search order. The handle is
  // not closed: it would only drop the reference that RTLD_NOLOAD took.
  void* library = library_name == nullptr ? nullptr : dlopen(library_name, RTLD_LAZY | RTLD_NOLOAD);
  return library == nullptr ? nullptr : dlsym(library, name);
}

}  // namespace

void* resolve(const char* name) {
  if (void* found = find(name, IMPISHIM_VENDOR_SONAME); found != nullptr) return found;
  // A few functions exist under one name only: "PMPI_X" without its P.
  if (void* found = find(name + 1, IMPISHIM_VENDOR_SONAME); found != nullptr) return found;
  log(LogLevel::kError,
      "the MPI library has no function {}: is this libimpishim.so built for it? It was built for " IMPISHIM_VENDOR_SONAME,
      name + 1);
  std::abort();
}

void* resolve_fortran(const char* name) {
  if (void* found = find(name, fortran_layer_path()); found != nullptr) return found;
  log(LogLevel::kError, "the MPI's Fortran library has no function {}: is this libimpishim.so built for it?", name);
  std::abort();
}

}  // namespace impishim::shim
