// SPDX-License-Identifier: Apache-2.0
#include "wire/stripe/reorder_buffer.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

namespace impishim::wire {

std::span<iovec> ReorderBuffer::prepare(std::uint64_t position, std::size_t size,
                                        std::span<iovec> pieces) {
  std::size_t filled = 0;
  while (size > 0 && filled < pieces.size()) {
    Block& block = blocks_[position / kBlockSize];
    if (!block && !spare_.empty()) {
      block = std::move(spare_.back());
      spare_.pop_back();
    }
    if (!block) block = std::make_unique_for_overwrite<std::byte[]>(kBlockSize);
    const auto at = static_cast<std::size_t>(position % kBlockSize);
    const std::size_t part = std::min(size, kBlockSize - at);
    pieces[filled++] = {block.get() + at, part};
    position += part;
    size -= part;
  }
  return pieces.first(filled);
}

std::size_t ReorderBuffer::copy(std::uint64_t position, std::span<std::byte> memory) const {
  if (!continues(position)) return 0;
  const auto size =
      static_cast<std::size_t>(std::min<std::uint64_t>(ranges_.first().size(), memory.size()));
  for (std::size_t done = 0; done < size;) {
    const auto at = static_cast<std::size_t>((position + done) % kBlockSize);
    const std::size_t part = std::min(size - done, kBlockSize - at);
    const Block& block = blocks_.at((position + done) / kBlockSize);
    std::memcpy(memory.data() + done, block.get() + at, part);
    done += part;
  }
  return size;
}

void ReorderBuffer::forget(std::uint64_t position) {
  ranges_.remove_before(position);
  while (!blocks_.empty() && blocks_.begin()->first < position / kBlockSize) {
    if (spare_.size() < kKeptBlocks) spare_.push_back(std::move(blocks_.begin()->second));
    blocks_.erase(blocks_.begin());
  }
}

}  // namespace impishim::wire
