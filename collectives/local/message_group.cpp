// SPDX-License-Identifier: Apache-2.0
#include "collectives/local/message_group.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/task.hpp"
#include "collectives/local/message_phase.hpp"

namespace impishim::collectives {
namespace {

/// The limits up to which direct messages are used. Beyond this number of members that one member
/// addresses in turn, or this number of bytes that it sends or receives, a tree or a pipeline would
/// be faster.
constexpr std::int32_t kFewMembers = 8;
constexpr std::uint64_t kShortBytes = 262144;
/// The maximum size of a piece; the same for all members, whatever size they request.
constexpr std::uint64_t kPieceBytes = 65536;

/// Combines operands that are stored one after another, `count` elements each: first op (... op
/// last). Writes the result to `result`.
void combine_all(const Data& operands, std::uint64_t count, std::int32_t last, const Data& result,
                 const Reduction& operation) {
  const auto operand = [&](std::int32_t member) {
    return operands.elements(static_cast<std::uint64_t>(member) * count, count);
  };
  const Data total = operand(last);
  for (std::int32_t member = last - 1; member >= 0; --member)
    operation.combine(operand(member).base, total.base, count);
  copy(total, {result.base, count, result.type});
}

}  // namespace

void copy_block(std::span<const std::byte> from, std::span<std::byte> to) {
  if (!from.empty() && from.data() != to.data()) std::memcpy(to.data(), from.data(), from.size());
}

bool MessageGroup::is_short(std::uint64_t bytes) const {
  return size_ <= kFewMembers && bytes <= kShortBytes / static_cast<std::uint64_t>(size_ - 1);
}

bool MessageGroup::pieces_are_short() const { return is_short(kPieceBytes); }

template <class Room>
Pending& MessageGroup::broadcast_message(const Room& room, std::uint64_t bytes, std::int32_t root) {
  MessagePhase& phase = phases_.begin_messages();
  if (rank_ != root) {
    phase.receive(room, root);
    phase.expect(bytes, nullptr);
    return phase;
  }
  for (std::int32_t member = 0; member < size_; ++member) {
    if (member != root) phase.send(room, member);
  }
  return phase;
}

Pending& MessageGroup::broadcast(const Data& data, std::int32_t root) {
  return broadcast_message(data, ConstData(data).native_bytes(), root);
}

Pending& MessageGroup::broadcast(std::span<std::byte> bytes, std::int32_t root) {
  return broadcast_message(bytes, bytes.size(), root);
}

template <class Room>
Pending& MessageGroup::piece_message(const Room& room, std::int32_t root, Piece& piece) {
  MessagePhase& phase = phases_.begin_messages();
  if (rank_ != root) {
    phase.receive(room, root, kAnyTag);
    phase.expect(piece.bytes, &piece);
    return phase;
  }
  const std::int32_t tag = piece.last ? MessagePhase::kPhaseTag : MessagePhase::kMoreTag;
  for (std::int32_t member = 0; member < size_; ++member) {
    if (member != root) phase.send(room, member, tag);
  }
  return phase;
}

Pending& MessageGroup::broadcast_piece(const Data& data, std::int32_t root, Piece& piece) {
  return piece_message(data, root, piece);
}

Pending& MessageGroup::broadcast_piece(std::span<std::byte> bytes, std::int32_t root,
                                       Piece& piece) {
  return piece_message(bytes, root, piece);
}

Pending& MessageGroup::reduce(const ConstData& contribution, const Data& result,
                              const Reduction& operation, std::int32_t root) {
  MessagePhase& phase = phases_.begin_messages();
  const std::uint64_t count = contribution.count;
  if (rank_ != root) {
    phase.send(contribution, root);
    return phase;
  }
  const Data operands =
      phase.make_room(*contribution.type, count * static_cast<std::uint64_t>(size_));
  for (std::int32_t member = 0; member < size_; ++member) {
    const Data operand = operands.elements(static_cast<std::uint64_t>(member) * count, count);
    if (member == rank_) {
      copy(contribution, operand);
    } else {
      phase.receive(operand, member);
    }
  }
  phase.at_end([operands, count, last = size_ - 1, result, &operation] {
    combine_all(operands, count, last, result, operation);
  });
  return phase;
}

Pending& MessageGroup::scan(const ConstData& contribution, const Data& result,
                            const Reduction& operation) {
  return scan_message(contribution, result, operation, rank_);
}

Pending& MessageGroup::exscan(const ConstData& contribution, const Data& result,
                              const Reduction& operation) {
  return scan_message(contribution, result, operation, rank_ - 1);
}

/// Combines the contributions of the members up to `last`.
Pending& MessageGroup::scan_message(const ConstData& contribution, const Data& result,
                                    const Reduction& operation, std::int32_t last) {
  MessagePhase& phase = phases_.begin_messages();
  const std::uint64_t count = contribution.count;
  const Data operands =
      phase.make_room(*contribution.type, count * static_cast<std::uint64_t>(rank_ + 1));
  for (std::int32_t member = 0; member < rank_; ++member)
    phase.receive(operands.elements(static_cast<std::uint64_t>(member) * count, count), member);
  const Data own = operands.elements(static_cast<std::uint64_t>(rank_) * count, count);
  copy(contribution, own);
  for (std::int32_t member = rank_ + 1; member < size_; ++member) phase.send(own, member);
  if (last < 0) return phase;
  phase.at_end([operands, count, last, result, &operation] {
    combine_all(operands, count, last, result, operation);
  });
  return phase;
}

Pending& MessageGroup::gather(std::span<const std::byte> block, std::span<std::byte> all,
                              std::int32_t root) {
  const std::vector<std::uint64_t> sizes(static_cast<std::size_t>(size_), block.size());
  return gatherv(block, all, sizes, root);
}

Pending& MessageGroup::gatherv(std::span<const std::byte> block, std::span<std::byte> all,
                               std::span<const std::uint64_t> sizes, std::int32_t root) {
  MessagePhase& phase = phases_.begin_messages();
  if (rank_ != root) {
    if (!block.empty()) phase.send(block, root);
    return phase;
  }
  for (std::int32_t member = 0; member < size_; ++member) {
    const std::span<std::byte> room = block_of(all, sizes, member);
    if (member == rank_) {
      copy_block(block, room);
    } else if (!room.empty()) {
      phase.receive(room, member);
    }
  }
  return phase;
}

Pending& MessageGroup::scatterv(std::span<const std::byte> all,
                                std::span<const std::uint64_t> sizes, std::span<std::byte> block,
                                std::int32_t root) {
  MessagePhase& phase = phases_.begin_messages();
  if (rank_ != root) {
    if (!block.empty()) phase.receive(block, root);
    return phase;
  }
  for (std::int32_t member = 0; member < size_; ++member) {
    const std::span<const std::byte> bytes = block_of(all, sizes, member);
    if (member == rank_) {
      copy_block(bytes, block);
    } else if (!bytes.empty()) {
      phase.send(bytes, member);
    }
  }
  return phase;
}

Pending& MessageGroup::allgatherv(std::span<const std::byte> block, std::span<std::byte> all,
                                  std::span<const std::uint64_t> sizes) {
  MessagePhase& phase = phases_.begin_messages();
  copy_block(block, block_of(all, sizes, rank_));
  for (std::int32_t member = 0; member < size_; ++member) {
    if (member != rank_) phase.receive(block_of(all, sizes, member), member);
  }
  for (std::int32_t member = 0; member < size_; ++member) {
    if (member != rank_) phase.send(block, member);
  }
  return phase;
}

}  // namespace impishim::collectives
