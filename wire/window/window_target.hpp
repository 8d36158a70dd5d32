// SPDX-License-Identifier: Apache-2.0
/// The target's side of a window: applies what origins of other systems ask for.
///
/// Accumulates are atomic for each element, since one lock of the window's is held while one is
/// applied (MPI-4.0 12.7.1). Puts and gets need none: conflicting ones are errors of the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "wire/base/mutex.hpp"
#include "wire/base/result.hpp"
#include "wire/data/basic_type.hpp"
#include "wire/data/type_layout.hpp"
#include "wire/window/window_memory.hpp"
#include "wire/window/window_request.hpp"

namespace impishim::wire {

/// Thread-safe.
class WindowTarget {
 public:
  explicit WindowTarget(WindowMemory memory) : memory_(std::move(memory)) {}

  /// Checks a put, a get or an accumulate: whether the window exposes what it touches, and whether
  /// its operation and sizes fit. `format` is the representation of the data in messages.
  [[nodiscard]] WindowStatus check(const WindowRequest& request, Format format) const;

  /// Returns the memory that a put writes, or a get reads, after check() has returned kDone.
  [[nodiscard]] MutableBuffer buffer_of(const WindowRequest& request) const;

  /// Applies a put whose data has come with it.
  [[nodiscard]] WindowStatus put(const WindowRequest& request, std::span<const std::byte> data,
                                 Format format) const;
  /// Appends the data of a get, as it travels, to `data`.
  [[nodiscard]] WindowStatus get(const WindowRequest& request, Format format,
                                 std::vector<std::byte>& data) const;
  /// Applies an accumulate. Appends the values before it to `before`, unless that is null.
  [[nodiscard]] WindowStatus accumulate(const WindowRequest& request,
                                        std::span<const std::byte> operands, Format format,
                                        std::vector<std::byte>* before);
  /// Replaces an element by the second of two operands if it equals the first. Appends the value
  /// before to `before`.
  [[nodiscard]] WindowStatus compare_and_swap(const WindowRequest& request,
                                              std::span<const std::byte> operands, Format format,
                                              std::vector<std::byte>& before);

  /// Changes dynamic memory: WindowMemory::attach() and detach().
  [[nodiscard]] bool attach(std::byte* base, std::uint64_t size);
  [[nodiscard]] bool detach(std::byte* base);

 private:
  [[nodiscard]] std::byte* address_of(const WindowRequest& request) const;
  void combine(const WindowRequest& request, std::byte* target, const std::byte* operands)
      IMPISHIM_REQUIRES(accumulating_);

  mutable Mutex attaching_;
  WindowMemory memory_ IMPISHIM_GUARDED_BY(attaching_);
  Mutex accumulating_;  ///< held while one accumulate is applied
};

}  // namespace impishim::wire
