// SPDX-License-Identifier: Apache-2.0
#include "wire/window/window_memory.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>

#include "wire/data/basic_type.hpp"
#include "wire/data/type_layout.hpp"

namespace impishim::wire {
namespace {

bool multiply(std::int64_t a, std::int64_t b, std::int64_t& product) {
  return !__builtin_mul_overflow(a, b, &product);
}

bool add(std::int64_t a, std::int64_t b, std::int64_t& sum) {
  return !__builtin_add_overflow(a, b, &sum);
}

/// Widens `range` by the bytes of one block. Returns false if they cannot be counted.
bool include(const Block& block, ByteRange& range) {
  const auto size = static_cast<std::int64_t>(element_size(block.type, Format::kNative));
  std::int64_t run = 0;
  std::int64_t last_run = 0;
  std::int64_t end = 0;
  if (block.count > INT64_MAX || block.repeat > INT64_MAX) return false;
  if (!multiply(static_cast<std::int64_t>(block.count), size, run) ||
      !multiply(static_cast<std::int64_t>(block.repeat) - 1, block.stride, last_run) ||
      !add(block.offset, last_run, last_run))
    return false;
  const std::int64_t first = std::min<std::int64_t>(block.offset, last_run);
  if (!add(std::max<std::int64_t>(block.offset, last_run), run, end)) return false;
  range.first = std::min(range.first, first);
  range.last = std::max(range.last, end);
  return true;
}

}  // namespace

std::optional<ByteRange> touched(const TypeLayout& layout, std::uint64_t count) {
  if (count == 0 || layout.blocks().empty()) return ByteRange{};
  ByteRange one{INT64_MAX, INT64_MIN};
  for (const Block& block : layout.blocks()) {
    if (!include(block, one)) return std::nullopt;
  }
  std::int64_t shift = 0;
  ByteRange last;
  if (count > INT64_MAX ||
      !multiply(static_cast<std::int64_t>(count) - 1, layout.extent(), shift) ||
      !add(one.first, shift, last.first) || !add(one.last, shift, last.last))
    return std::nullopt;
  return ByteRange{std::min(one.first, last.first), std::max(one.last, last.last)};
}

WindowMemory WindowMemory::fixed(std::byte* base, std::uint64_t size, std::int64_t unit) {
  WindowMemory memory(false);
  memory.base_ = base;
  memory.size_ = size;
  memory.unit_ = unit;
  return memory;
}

WindowMemory WindowMemory::dynamic() { return WindowMemory(true); }

bool WindowMemory::attach(std::byte* base, std::uint64_t size) {
  const auto first = static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(base));
  if (size == 0) return true;
  const auto after = regions_.lower_bound(first);
  if (after != regions_.end() && after->first < first + static_cast<std::int64_t>(size))
    return false;
  if (after != regions_.begin()) {
    const auto before = std::prev(after);
    if (before->first + static_cast<std::int64_t>(before->second) > first) return false;
  }
  regions_.emplace(first, size);
  return true;
}

bool WindowMemory::detach(std::byte* base) {
  return regions_.erase(static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(base))) > 0;
}

/// Returns true if dynamic memory exposes the addresses [first, last), perhaps by regions that
/// adjoin.
bool WindowMemory::contains(std::int64_t first, std::int64_t last) const {
  auto region = regions_.upper_bound(first);
  if (region == regions_.begin()) return false;
  --region;
  std::int64_t end = region->first + static_cast<std::int64_t>(region->second);
  // The first byte is in this region, if in any.
  if (end <= first) return false;
  for (++region; end < last && region != regions_.end() && region->first == end; ++region)
    end += static_cast<std::int64_t>(region->second);
  return last <= end;
}

/// Returns true if dynamic memory exposes each run of bytes of data whose origin is at an address.
/// All addresses have been counted in 63 bits.
bool WindowMemory::contains_each(std::int64_t origin, const TypeLayout& layout,
                                 std::uint64_t count) const {
  // What lies in one place needs one check, however often a request names it.
  const std::uint64_t elements = layout.extent() == 0 ? std::min<std::uint64_t>(count, 1) : count;
  for (std::uint64_t element = 0; element < elements; ++element) {
    const std::int64_t base = origin + static_cast<std::int64_t>(element) * layout.extent();
    for (const Block& block : layout.blocks()) {
      const std::uint64_t run = block.count * element_size(block.type, Format::kNative);
      const std::uint64_t runs =
          block.stride == 0 ? std::min<std::uint64_t>(block.repeat, 1) : block.repeat;
      for (std::uint64_t i = 0; run != 0 && i < runs; ++i) {
        const std::int64_t first =
            base + block.offset + static_cast<std::int64_t>(i) * block.stride;
        if (!contains(first, first + static_cast<std::int64_t>(run))) return false;
      }
    }
  }
  return true;
}

std::byte* WindowMemory::address(std::int64_t displacement, const TypeLayout& layout,
                                 std::uint64_t count) const {
  const auto range = touched(layout, count);
  std::int64_t offset = 0;
  std::int64_t first = 0;
  std::int64_t last = 0;
  if (!range || range->first == range->last || !multiply(displacement, unit_, offset) ||
      !add(offset, range->first, first) || !add(offset, range->last, last))
    return nullptr;
  if (dynamic_) {
    // The gaps of a datatype may lie outside of all regions.
    const bool exposed = contains(first, last) || contains_each(offset, layout, count);
    return exposed ? moved(static_cast<std::byte*>(nullptr), offset) : nullptr;
  }
  const bool inside = first >= 0 && static_cast<std::uint64_t>(last) <= size_;
  return inside ? moved(base_, offset) : nullptr;
}

}  // namespace impishim::wire
