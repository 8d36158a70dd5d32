// SPDX-License-Identifier: Apache-2.0
/// Handles of our own where the vendor's are pointers: addresses in a range that belongs to this
/// library.
///
/// Only this library is given them, with one exception. Open MPI's Fortran layer asks MPI_X_f2c for
/// the handle, makes the C call, and then reads the object's Fortran number where the handle points
/// to instead of asking MPI_X_c2f. So there is memory behind every handle, and each int in it is
/// the handle's Fortran number, wherever a version of the vendor's looks for it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "wire/base/mutex.hpp"
#include "wire/base/result.hpp"

namespace impishim::shim {

/// Most objects of a kind that may be alive at once.
inline constexpr std::uint32_t kMaxOwnHandles = 1U << 22U;

class HandleAddresses {
 public:
  explicit HandleAddresses(std::uintptr_t /*null*/) {}

  /// Takes the range; before that there are no handles. Memory is taken as handles are made.
  /// kSystem.
  Result<void> reserve();
  /// The handle of that index. Any thread.
  [[nodiscard]] std::uintptr_t bits(std::uint32_t index);
  /// The index; kMaxOwnHandles or more: no handle of ours.
  [[nodiscard]] std::uintptr_t index(std::uintptr_t bits) const { return (bits - base_) / kStride; }
  /// Negative, as the vendor's never are.
  [[nodiscard]] int fortran(std::uint32_t index) const { return -2 - static_cast<int>(index); }
  [[nodiscard]] std::uintptr_t index_of_fortran(int number) const {
    return static_cast<std::uintptr_t>(std::int64_t{-2} - number);
  }

 private:
  /// As large as any object that is read is expected to be.
  static constexpr std::size_t kStride = 256;
  void make_readable(std::uint32_t index);

  std::uintptr_t base_ = 0x494d'0000'0000'0000ULL;  ///< until reserve(): no object can lie there
  Mutex mutex_;
  std::atomic<std::uint32_t> readable_{0};  ///< handles that have memory
};

}  // namespace impishim::shim
