// SPDX-License-Identifier: Apache-2.0
/// Pieces of memory, as the calls of a channel take them.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <span>

namespace impishim::wire {

/// Returns the number of bytes of all pieces.
[[nodiscard]] inline std::size_t size_of(std::span<const iovec> pieces) {
  std::size_t size = 0;
  for (const iovec& piece : pieces) size += piece.iov_len;
  return size;
}

/// Copies the pieces of the first `size` bytes of `from` to `to`, which must have room for them.
/// Returns the part that was filled.
[[nodiscard]] inline std::span<iovec> limited(std::span<const iovec> from, std::size_t size,
                                              std::span<iovec> to) {
  std::size_t filled = 0;
  for (const iovec& piece : from) {
    if (size == 0) break;
    to[filled] = {piece.iov_base, std::min(size, piece.iov_len)};
    size -= to[filled++].iov_len;
  }
  return to.first(filled);
}

}  // namespace impishim::wire
