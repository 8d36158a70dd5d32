// SPDX-License-Identifier: Apache-2.0
/// The phases of a local group by messages: each pair of members that exchanges data uses one
/// message, and all messages are posted at once. A nonblocking collective's schedule takes several
/// rounds of a library's progress where a message takes one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/task.hpp"
#include "collectives/local/message_phase.hpp"

namespace impishim::collectives {

/// The members of a local group of at least two. The functions are those of LocalGroup.
class MessageGroup {
 public:
  MessageGroup(MessagePhases& phases, std::int32_t rank, std::int32_t size)
      : phases_(phases), rank_(rank), size_(size) {}

  /// Returns true if messages are faster than a tree or a pipeline, where each member contributes
  /// or receives `bytes` bytes. All members make the same decision.
  [[nodiscard]] bool is_short(std::uint64_t bytes) const;
  /// Returns true if the operands are short. Empty operands are excluded, since their addresses
  /// could not tell them apart.
  [[nodiscard]] bool short_operands(const ConstData& contribution) const {
    return contribution.native_bytes() > 0 && is_short(contribution.native_bytes());
  }
  /// Returns true if pieces of a broadcast are short, whatever size a member asks for.
  [[nodiscard]] bool pieces_are_short() const;

  Pending& broadcast(const Data& data, std::int32_t root);
  Pending& broadcast(std::span<std::byte> bytes, std::int32_t root);
  Pending& broadcast_piece(const Data& data, std::int32_t root, Piece& piece);
  Pending& broadcast_piece(std::span<std::byte> bytes, std::int32_t root, Piece& piece);
  Pending& reduce(const ConstData& contribution, const Data& result, const Reduction& operation,
                  std::int32_t root);
  Pending& scan(const ConstData& contribution, const Data& result, const Reduction& operation);
  Pending& exscan(const ConstData& contribution, const Data& result, const Reduction& operation);
  Pending& gather(std::span<const std::byte> block, std::span<std::byte> all, std::int32_t root);
  /// Empty blocks need no message.
  Pending& gatherv(std::span<const std::byte> block, std::span<std::byte> all,
                   std::span<const std::uint64_t> sizes, std::int32_t root);
  Pending& scatterv(std::span<const std::byte> all, std::span<const std::uint64_t> sizes,
                    std::span<std::byte> block, std::int32_t root);
  Pending& allgatherv(std::span<const std::byte> block, std::span<std::byte> all,
                      std::span<const std::uint64_t> sizes);

 private:
  template <class Room>
  Pending& broadcast_message(const Room& room, std::uint64_t bytes, std::int32_t root);
  template <class Room>
  Pending& piece_message(const Room& room, std::int32_t root, Piece& piece);
  Pending& scan_message(const ConstData& contribution, const Data& result,
                        const Reduction& operation, std::int32_t last);

  MessagePhases& phases_;
  std::int32_t rank_;
  std::int32_t size_;
};

/// Returns the block of `member` in a buffer of blocks of these sizes.
template <class Byte>
[[nodiscard]] std::span<Byte> block_of(std::span<Byte> all, std::span<const std::uint64_t> sizes,
                                       std::int32_t member) {
  std::uint64_t before = 0;
  for (const std::uint64_t size : sizes.first(static_cast<std::size_t>(member))) before += size;
  return all.subspan(before, sizes[static_cast<std::size_t>(member)]);
}

/// Copies a block, unless it is in its place already.
void copy_block(std::span<const std::byte> from, std::span<std::byte> to);

}  // namespace impishim::collectives
