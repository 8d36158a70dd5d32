// SPDX-License-Identifier: Apache-2.0
#include "wire/data/type_map_cursor.hpp"
#include <cstddef>
#include <cstdint>
#include "wire/data/basic_type.hpp"
#include "wire/data/type_layout.hpp"

namespace impishim::wire {

TypeMapCursor::TypeMapCursor(const TypeLayout& layout, std::uint64_t items) : layout_(&layout) {
  if (layout.blocks().size() != 1) return;
  Block block = layout.blocks().front();
  if (block.repeat == 1) {
    block.repeat = items;
    // A single item has no next one, and its extent may point outside of all memory.
    block.stride = items > 1 ? layout.extent() : 0;
  } else if (layout.extent() == static_cast<std::ptrdiff_t>(block.repeat) * block.stride) {
    block.repeat *= items;
  } else {
    return;
  }
  if (block.stride ==
      static_cast<std::ptrdiff_t>(block.count * element_size(block.type, Format::kNative))) {
    block.count *= block.repeat;
    block.repeat = 1;
  }
  merged_block_ = block;
  merged_ = true;
}

std::ptrdiff_t TypeMapCursor::offset() const {
  const Block& here = block();
  return static_cast<std::ptrdiff_t>(item_) * layout_->extent() + here.offset +
         static_cast<std::ptrdiff_t>(run_) * here.stride +
         static_cast<std::ptrdiff_t>(element_ * element_size(here.type, Format::kNative));
}

void TypeMapCursor::advance(std::uint64_t count) {
  element_ += count;
  if (element_ < block().count) return;
  element_ = 0;
  advance_runs(1);
}

void TypeMapCursor::advance_runs(std::uint64_t count) {
  run_ += count;
  if (run_ >= block().repeat) next_block();
}

void TypeMapCursor::next_block() {
  // Merged data has only one block.
  if (merged_) return;
  run_ = 0;
  if (++block_ < layout_->blocks().size()) return;
  block_ = 0;
  ++item_;
}

}  // namespace impishim::wire
