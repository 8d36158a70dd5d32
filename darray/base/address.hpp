// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace impishim::darray {

/// Returns the address `bytes` behind `first`. A rank without elements may have no buffer, and null
/// stays null.
inline const std::byte* address_at(const void* first, std::ptrdiff_t bytes) {
  return first == nullptr ? nullptr : static_cast<const std::byte*>(first) + bytes;
}
inline std::byte* address_at(void* first, std::ptrdiff_t bytes) {
  return first == nullptr ? nullptr : static_cast<std::byte*>(first) + bytes;
}

}  // namespace impishim::darray
