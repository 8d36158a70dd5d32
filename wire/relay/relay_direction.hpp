// SPDX-License-Identifier: Apache-2.0
/// The bytes of one direction between the two hosts of a pair, in a ring buffer of fixed size.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include "wire/base/result.hpp"

namespace impishim::wire {

/// What one host has sent and the other one has not taken yet. It reads only while there is room,
/// so a host that does not read stops the one that sends. No function blocks.
class RelayDirection {
 public:
  /// Allocates `capacity` bytes. Throws std::bad_alloc if there is no memory.
  explicit RelayDirection(std::size_t capacity);

  /// Appends `bytes`, for which there must be room.
  void put(std::span<const std::byte> bytes);
  /// Reads once from `socket`, as much as there is room for. Returns the number of bytes; 0 if none
  /// have come, or if the stream has ended. Fails with kConnection if the socket has failed.
  [[nodiscard]] Result<std::size_t> read_from(int socket);
  /// Writes once to `socket`. If the stream has ended and all of it has been written, it ends the
  /// stream of `socket` too. Fails with kConnection if the socket has failed.
  [[nodiscard]] Result<void> write_to(int socket);

  [[nodiscard]] bool wants_input() const { return !ended_ && size_ < capacity_; }
  [[nodiscard]] bool wants_output() const { return size_ > 0; }
  /// Returns true if the end of the stream has been passed on.
  [[nodiscard]] bool done() const { return done_; }

 private:
  [[nodiscard]] std::array<iovec, 2> pieces(std::size_t begin, std::size_t size);

  std::unique_ptr<std::byte[]> bytes_;
  std::size_t capacity_;
  std::size_t begin_ = 0;  ///< of the first byte that is not written
  std::size_t size_ = 0;
  bool ended_ = false;  ///< the host that sends has ended its stream
  bool done_ = false;
};

}  // namespace impishim::wire
