// SPDX-License-Identifier: Apache-2.0
#include "wire/data/type_layout.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>
#include "wire/base/never_destroyed.hpp"
#include "wire/data/basic_type.hpp"

namespace impishim::wire {
namespace {

std::ptrdiff_t run_bytes(const Block& block) {
  return static_cast<std::ptrdiff_t>(block.count * element_size(block.type, Format::kNative));
}

/// Merges the runs of a block into one run if there are no gaps between them.
void simplify(Block& block) {
  if (block.repeat > 1 && block.stride == run_bytes(block)) {
    block.count *= block.repeat;
    block.repeat = 1;
  }
  if (block.repeat <= 1) block.stride = 0;
}

/// Appends `next`, or merges it into the last block if it continues that block.
void append(std::vector<Block>& blocks, Block next) {
  simplify(next);
  if (next.count == 0 || next.repeat == 0) return;
  if (!blocks.empty()) {
    Block& last = blocks.back();
    const bool both_single = last.repeat == 1 && next.repeat == 1;
    if (both_single && last.type == next.type && last.offset + run_bytes(last) == next.offset) {
      last.count += next.count;
      return;
    }
    const bool same_run = last.type == next.type && last.count == next.count && next.repeat == 1;
    if (same_run && last.repeat == 1) {
      last.stride = next.offset - last.offset;
      last.repeat = 2;
      return;
    }
    if (same_run &&
        next.offset == last.offset + static_cast<std::ptrdiff_t>(last.repeat) * last.stride) {
      ++last.repeat;
      return;
    }
  }
  blocks.push_back(next);
}

}  // namespace

TypeLayout::TypeLayout(const std::vector<Block>& blocks, std::ptrdiff_t extent) : extent_(extent) {
  for (const Block& block : blocks) append(blocks_, block);
  for (const Block& block : blocks_) {
    const std::uint64_t elements = block.count * block.repeat;
    basic_count_ += elements;
    for (const Format format : {Format::kNative, Format::kExternal32, Format::kWide}) {
      packed_size_[static_cast<std::size_t>(format)] += elements * element_size(block.type, format);
    }
  }
  gap_free_ = true;
  std::ptrdiff_t end = blocks_.empty() ? 0 : blocks_.front().offset;
  for (const Block& block : blocks_) {
    gap_free_ = gap_free_ && block.repeat == 1 && block.offset == end;
    end = block.offset + run_bytes(block);
  }
  contiguous_ = gap_free_ && extent_ == static_cast<std::ptrdiff_t>(packed_size(Format::kNative));
}

std::shared_ptr<const TypeLayout> TypeLayout::without_gaps() const {
  std::vector<Block> blocks;
  std::ptrdiff_t offset = 0;
  for (const Block& block : blocks_) {
    const std::uint64_t count = block.count * block.repeat;
    blocks.push_back({offset, block.type, count, 1, 0});
    offset += static_cast<std::ptrdiff_t>(count * element_size(block.type, Format::kNative));
  }
  return std::make_shared<const TypeLayout>(blocks, offset);
}

const TypeLayout& TypeLayout::basic(BasicType type) {
  static const auto& kLayouts = never_destroyed<const std::vector<TypeLayout>>([] {
    std::vector<TypeLayout> made;
    for (std::size_t i = 0; i < static_cast<std::size_t>(BasicType::kNumberOfTypes); ++i) {
      const auto basic_type = static_cast<BasicType>(i);
      made.emplace_back(std::vector<Block>{{0, basic_type, 1, 1, 0}},
                        static_cast<std::ptrdiff_t>(element_size(basic_type, Format::kNative)));
    }
    return made;
  }());
  return kLayouts[static_cast<std::size_t>(type)];
}

}  // namespace impishim::wire
