/// The vendor's handles as plain numbers, for layers that know no MPI type.
#pragma once

#include <cstdint>
#include <cstring>

namespace impishim::shim {

/// Works for ints and for pointers.
template <class Handle>
[[nodiscard]] std::uintptr_t to_bits(Handle handle) {
  static_assert(sizeof(Handle) <= sizeof(std::uintptr_t));
  std::uintptr_t bits = 0;
  std::memcpy(&bits, &handle, sizeof(handle));
  return bits;
}

template <class Handle>
[[nodiscard]] Handle from_bits(std::uintptr_t bits) {
  Handle handle;
  std::memcpy(&handle, &bits, sizeof(handle));
  return handle;
}

}  // namespace impishim::shim
