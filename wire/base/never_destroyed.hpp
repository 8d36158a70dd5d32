// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

namespace impishim {

/// Constructs a value that lives until the process ends. For static objects that exit handlers may
/// use: exit() destroys what has been constructed after a handler was registered before it calls
/// the handler.
template <class T, class... Arguments>
[[nodiscard]] T& never_destroyed(Arguments&&... arguments) {
  return *std::make_unique<T>(std::forward<Arguments>(arguments)...).release();
}

}  // namespace impishim
