// SPDX-License-Identifier: Apache-2.0
/// The only file that knows whether this vendor's handles are ints (MPICH and its ABI family) or
/// pointers (Open MPI).
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "shim/handle/handle_addresses.hpp"

namespace impishim::shim {

// NOLINTBEGIN(bugprone-sizeof-expression): where handles are pointers, their own bits are meant
/// Returns the vendor's handle as a plain number, for tables and for layers that know no MPI type.
template <class Handle>
[[nodiscard]] std::uintptr_t to_bits(Handle handle) {
  using Number =
      std::conditional_t<sizeof(Handle) == sizeof(std::uint32_t), std::uint32_t, std::uintptr_t>;
  return std::bit_cast<Number>(handle);
}

template <class Handle>
[[nodiscard]] Handle from_bits(std::uintptr_t bits) {
  Handle handle;
  std::memcpy(&handle, &bits, sizeof(handle));
  return handle;
}
// NOLINTEND(bugprone-sizeof-expression)

/// Returns a hash of a handle, for hash tables: use as many low bits as the table needs.
template <class Handle>
[[nodiscard]] std::size_t hash_of(Handle handle) {
  return static_cast<std::size_t>((to_bits(handle) * 0x9E3779B97F4A7C15ULL) >> 40U);
}

/// Own handles for a vendor whose handles are ints: they are counted from the null handle. The kind
/// bits of the null handle say "invalid", and the vendor's library never makes another handle of
/// that kind. Fortran's handles are the same ints.
class HandleNumbers {
 public:
  explicit HandleNumbers(std::uintptr_t null) : null_(static_cast<std::uint32_t>(null)) {}
  Result<void> reserve() { return {}; }
  [[nodiscard]] std::uintptr_t bits(std::uint32_t index) const {
    return std::uintptr_t{null_} + index + 1;
  }
  /// Returns the index; kMaxOwnHandles or more: not an own handle.
  [[nodiscard]] std::uintptr_t index(std::uintptr_t bits) const {
    return static_cast<std::uint32_t>(bits) - null_ - 1U;
  }
  [[nodiscard]] int fortran(std::uint32_t index) const { return static_cast<int>(bits(index)); }
  [[nodiscard]] std::uintptr_t index_of_fortran(int number) const {
    return index(static_cast<std::uint32_t>(number));
  }

 private:
  std::uint32_t null_;
};

template <class Handle>
using OwnHandleBits = std::conditional_t<std::is_pointer_v<Handle>, HandleAddresses, HandleNumbers>;

}  // namespace impishim::shim
