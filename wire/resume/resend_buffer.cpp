// SPDX-License-Identifier: Apache-2.0
#include "wire/resume/resend_buffer.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "wire/base/assert.hpp"

namespace impishim::wire {

void ResendBuffer::append(std::span<const iovec> pieces, std::size_t size) {
  IMPISHIM_ASSERT(size <= room());
  for (const iovec& piece : pieces) {
    const std::size_t part = std::min(size, piece.iov_len);
    append_bytes({static_cast<const std::byte*>(piece.iov_base), part});
    size -= part;
    if (size == 0) return;
  }
}

void ResendBuffer::append_bytes(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto used = static_cast<std::size_t>(end_ - origin_);
    if (used == blocks_.size() * kBlockSize) {
      if (spare_.empty()) {
        blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(kBlockSize));
      } else {
        blocks_.push_back(std::move(spare_.back()));
        spare_.pop_back();
      }
    }
    const std::size_t at = used % kBlockSize;
    const std::size_t part = std::min(bytes.size(), kBlockSize - at);
    std::memcpy(blocks_.back().get() + at, bytes.data(), part);
    bytes = bytes.subspan(part);
    end_ += part;
  }
}

void ResendBuffer::forget(std::uint64_t position) {
  IMPISHIM_ASSERT(position >= begin_ && position <= end_);
  begin_ = position;
  while (!blocks_.empty() && begin_ - origin_ >= kBlockSize) {
    spare_.push_back(std::move(blocks_.front()));
    blocks_.pop_front();
    origin_ += kBlockSize;
  }
  if (begin_ != end_) return;
  // The next bytes go to the beginning of the block, which is in the processor's cache.
  origin_ = begin_;
  const std::size_t most_spare = kKeptBlocks - std::min(kKeptBlocks, blocks_.size());
  if (spare_.size() > most_spare) spare_.resize(most_spare);
}

std::span<iovec> ResendBuffer::find(std::uint64_t position, std::size_t size,
                                    std::span<iovec> pieces) const {
  IMPISHIM_ASSERT(position >= begin_ && position + size <= end_);
  std::size_t filled = 0;
  while (size > 0 && filled < pieces.size()) {
    const auto offset = static_cast<std::size_t>(position - origin_);
    const std::size_t at = offset % kBlockSize;
    const std::size_t part = std::min(size, kBlockSize - at);
    pieces[filled++] = {blocks_[offset / kBlockSize].get() + at, part};
    position += part;
    size -= part;
  }
  return pieces.first(filled);
}

}  // namespace impishim::wire
