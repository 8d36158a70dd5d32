// SPDX-License-Identifier: Apache-2.0
/// The memory that a process exposes in a window, and the check of every access from outside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "wire/data/type_layout.hpp"

namespace impishim::wire {

/// Bytes [first, last) from the origin of data.
struct ByteRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

/// Returns the bytes that `count` elements of a layout touch, from the origin of the first. Returns
/// nothing if they cannot be counted in 63 bits.
[[nodiscard]] std::optional<ByteRange> touched(const TypeLayout& layout, std::uint64_t count);

/// The engine's lock does not protect it: the window's owner does.
class WindowMemory {
 public:
  /// Returns the memory of MPI_Win_create and MPI_Win_allocate: `size` bytes at `base`, where
  /// displacements count units of `unit` bytes (at least 1).
  [[nodiscard]] static WindowMemory fixed(std::byte* base, std::uint64_t size, std::int64_t unit);
  /// Returns the memory of MPI_Win_create_dynamic: nothing until attach(). Displacements are
  /// addresses.
  [[nodiscard]] static WindowMemory dynamic();

  /// Adds a region to dynamic memory. Returns false if it overlaps one that is attached.
  [[nodiscard]] bool attach(std::byte* base, std::uint64_t size);
  /// Removes the region that begins at `base`. Returns false if there is none.
  [[nodiscard]] bool detach(std::byte* base);

  /// Returns the address of data of this layout at a displacement, if all that it touches is
  /// exposed. Returns null if not, and for empty data.
  [[nodiscard]] std::byte* address(std::int64_t displacement, const TypeLayout& layout,
                                   std::uint64_t count) const;
  /// Returns true if an access is empty, or all that it touches is exposed.
  [[nodiscard]] bool exposes(std::int64_t displacement, const TypeLayout& layout,
                             std::uint64_t count) const {
    return count * layout.basic_count() == 0 || address(displacement, layout, count) != nullptr;
  }

 private:
  explicit WindowMemory(bool is_dynamic) : dynamic_(is_dynamic) {}
  [[nodiscard]] bool contains(std::int64_t first, std::int64_t last) const;
  [[nodiscard]] bool contains_each(std::int64_t origin, const TypeLayout& layout,
                                   std::uint64_t count) const;

  bool dynamic_;
  std::byte* base_ = nullptr;
  std::uint64_t size_ = 0;
  std::int64_t unit_ = 1;
  std::map<std::int64_t, std::uint64_t> regions_;  ///< of dynamic memory: address, size
};

}  // namespace impishim::wire
