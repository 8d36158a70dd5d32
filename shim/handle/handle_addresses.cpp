// SPDX-License-Identifier: Apache-2.0
#include "shim/handle/handle_addresses.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "wire/base/log.hpp"
#include "wire/base/mutex.hpp"
#include "wire/base/result.hpp"

namespace impishim::shim {

Result<void> HandleAddresses::reserve() {
  // The range is mapped without access, so that it counts against no limit on memory.
  void* range = mmap(nullptr, kMaxOwnHandles * kStride, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) {
    return Error{ErrorKind::kSystem, fmt::format("no address space for handles of {} bytes: {}",
                                                 kMaxOwnHandles * kStride, std::strerror(errno))};
  }
  base_ = reinterpret_cast<std::uintptr_t>(range);
  return {};
}

std::uintptr_t HandleAddresses::bits(std::uint32_t index) {
  if (index >= readable_.load(std::memory_order_acquire)) make_readable(index);
  return base_ + index * kStride;
}

void HandleAddresses::make_readable(std::uint32_t index) {
  constexpr std::uint32_t kAtOnce = 1024;
  const MutexLock lock(mutex_);
  for (std::uint32_t first = readable_.load(std::memory_order_relaxed); first <= index;
       first += kAtOnce) {
    auto* memory = reinterpret_cast<std::byte*>(base_ + first * kStride);
    if (first >= kMaxOwnHandles ||
        mprotect(memory, kAtOnce * kStride, PROT_READ | PROT_WRITE) != 0) {
      log(LogArea::kShim, LogLevel::kError, "no memory for handle {} of {}", index, kMaxOwnHandles);
      std::abort();
    }
    for (std::uint32_t each = 0; each < kAtOnce; ++each) {
      const int number = fortran(first + each);
      for (std::size_t at = 0; at < kStride; at += sizeof(number))
        std::memcpy(memory + each * kStride + at, &number, sizeof(number));
    }
    readable_.store(first + kAtOnce, std::memory_order_release);
  }
}

}  // namespace impishim::shim
