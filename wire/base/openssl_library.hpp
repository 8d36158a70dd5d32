// SPDX-License-Identifier: Apache-2.0
/// Loading of OpenSSL's libraries. Nothing links them, so programs that need them not never load
/// them.
#pragma once

#include <dlfcn.h>
#include <fmt/format.h>

#include <string>

#include "wire/base/result.hpp"

namespace impishim {

/// RTLD_DEEPBIND: a program may contain another OpenSSL, and a library must not bind to the
/// functions of that one. Sanitizers do not allow this flag.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int kOpenSslFlags = RTLD_NOW | RTLD_LOCAL;
#else
inline constexpr int kOpenSslFlags = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
#endif

/// Loads the library `name`, which is never unloaded, and returns its handle. Fails with
/// kConfiguration if it is not installed.
[[nodiscard]] inline Result<void*> load_openssl(const std::string& name) {
  if (void* library = dlopen(name.c_str(), kOpenSslFlags); library != nullptr) return library;
  return Error{ErrorKind::kConfiguration,
               fmt::format("OpenSSL's {} cannot be loaded ({}): install it (Debian: libssl3)", name,
                           dlerror())};
}

/// Stores the function `name` of a library in `function`. Returns false if there is none.
template <class Function>
[[nodiscard]] bool find_function(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace impishim
