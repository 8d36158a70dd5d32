#include "shim/resolve.hpp"

#include <dlfcn.h>

#include <cstdlib>

#include "wire/base/log.hpp"

namespace impishim::shim {

void* resolve(const char* name) {
  if (void* found = dlsym(RTLD_NEXT, name); found != nullptr) return found;
  // Opened with RTLD_LOCAL, the vendor's library is loaded (this library needs it) but not in our search order.
  if (void* library = dlopen(IMPISHIM_VENDOR_SONAME, RTLD_LAZY | RTLD_NOLOAD); library != nullptr) {
    if (void* found = dlsym(library, name); found != nullptr) return found;
  }
  log(LogLevel::kError,
      "the MPI library has no function {}: is this libimpishim.so built for it? It was built for " IMPISHIM_VENDOR_SONAME,
      name);
  std::abort();
}

}  // namespace impishim::shim
