/// The one place that knows whether this vendor's handles are ints (MPICH and its ABI family) or pointers (Open MPI).
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace impishim::shim {

/// The vendor's handle as a plain number, for tables and for layers that know no MPI type.
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

/// A number from which handles can be counted that the vendor never makes.
///
/// Where handles are ints it is the null handle: its kind bits say "invalid", and the library never makes another handle of
/// that kind. Where they are pointers, it is an address that is not canonical on any 64-bit machine: no object can lie there.
template <class Handle>
[[nodiscard]] std::uintptr_t bits_without_objects(Handle null) {
  if constexpr (std::is_pointer_v<Handle>) {
    constexpr std::uintptr_t kNoObjectHere = 0x494d'0000'0000'0000ULL;
    return kNoObjectHere;
  } else {
    return to_bits(null);
  }
}

/// Index of a handle in a hash table of 2^n slots; take as many low bits as it has.
template <class Handle>
[[nodiscard]] std::size_t hash_of(Handle handle) {
  return static_cast<std::size_t>((to_bits(handle) * 0x9E3779B97F4A7C15ULL) >> 40U);
}

}  // namespace impishim::shim
