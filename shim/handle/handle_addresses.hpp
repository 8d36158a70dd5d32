// SPDX-License-Identifier: Apache-2.0
/// Own handles for a vendor whose handles are pointers: addresses in a range that belongs to this
/// library.
///
/// Only this library receives such handles, with one exception. Open MPI's Fortran layer asks
/// MPI_X_f2c for the handle and makes the C call. It then reads the object's Fortran number at the
/// address in the handle, instead of calling MPI_X_c2f. Every handle therefore points to memory,
/// and each int in that memory is the handle's Fortran number, at whatever offset a version of the
/// vendor reads it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "wire/base/mutex.hpp"
#include "wire/base/result.hpp"

namespace impishim::shim {

/// Largest number of objects of a kind that may be alive at once.
inline constexpr std::uint32_t kMaxOwnHandles = 1U << 22U;

class HandleAddresses {
 public:
  explicit HandleAddresses(std::uintptr_t /*null*/) {}

  /// Reserves the range; before that there are no handles. Memory is allocated as handles are made.
  /// Errors: kSystem.
  Result<void> reserve();
  /// Returns the handle of that index. Any thread.
  [[nodiscard]] std::uintptr_t bits(std::uint32_t index);
  /// Returns the index; kMaxOwnHandles or more: not an own handle.
  [[nodiscard]] std::uintptr_t index(std::uintptr_t bits) const { return (bits - base_) / kStride; }
  /// Returns the handle's Fortran number: negative, as the vendor's numbers never are.
  [[nodiscard]] int fortran(std::uint32_t index) const { return -2 - static_cast<int>(index); }
  [[nodiscard]] std::uintptr_t index_of_fortran(int number) const {
    return static_cast<std::uintptr_t>(std::int64_t{-2} - number);
  }

 private:
  /// As large as any object that is read is expected to be.
  static constexpr std::size_t kStride = 256;
  void make_readable(std::uint32_t index);

  /// Before reserve(): an address where no object can be.
  std::uintptr_t base_ = 0x494d'0000'0000'0000ULL;
  Mutex mutex_;
  std::atomic<std::uint32_t> readable_{0};  ///< number of handles that have memory
};

}  // namespace impishim::shim
