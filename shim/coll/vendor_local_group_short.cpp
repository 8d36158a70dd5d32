// SPDX-License-Identifier: Apache-2.0
// Local phases of short data and few members. Each pair of members that exchanges data uses one
// message, and all messages are posted at once.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>
#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/task.hpp"
#include "shim/coll/vendor_local_group.hpp"
#include "shim/datatype/element_type.hpp"

namespace impishim::shim {

using collectives::ConstData;
using collectives::Data;
using collectives::Pending;
using collectives::Reduction;

namespace {

/// The limits up to which direct messages are used. Beyond this number of members that one member
/// addresses in turn, or this number of bytes that it sends or receives, the vendor's tree or
/// pipeline would be faster.
constexpr int kFewMembers = 8;
constexpr std::uint64_t kShortBytes = 262144;

/// Returns the operand of `member`. Operands are stored consecutively.
Data operand(const collectives::TypedRoom& room, std::uint64_t count, int member) {
  return room.data().elements(static_cast<std::uint64_t>(member) * count, count);
}

/// Returns first op (... op last). The result is in the storage of `last`.
Data combine_all(const collectives::TypedRoom& room, std::uint64_t count, int last,
                 const Reduction& operation) {
  const Data total = operand(room, count, last);
  for (int member = last - 1; member >= 0; --member)
    operation.combine(operand(room, count, member).base, total.base, count);
  return total;
}

}  // namespace

bool VendorLocalGroup::is_short(std::uint64_t bytes) const {
  return size_ <= kFewMembers && bytes <= kShortBytes / static_cast<std::uint64_t>(size_ - 1);
}

Pending& VendorLocalGroup::short_broadcast(const Data& data, std::int32_t root) {
  Phase& phase = begin();
  if (rank_ != root) {
    phase.receive(data.base, data.count, datatype_of(*data.type), root);
    phase.expect(ConstData(data).native_bytes(), nullptr);
    return phase;
  }
  for (int member = 0; member < size_; ++member) {
    if (member != root) phase.send(data.base, data.count, datatype_of(*data.type), member);
  }
  return phase;
}

Pending& VendorLocalGroup::short_broadcast(std::span<std::byte> bytes, std::int32_t root) {
  Phase& phase = begin();
  if (rank_ != root) {
    phase.receive(bytes, root);
    phase.expect(bytes.size(), nullptr);
    return phase;
  }
  for (int member = 0; member < size_; ++member) {
    if (member != root) phase.send(bytes, member);
  }
  return phase;
}

bool VendorLocalGroup::pieces_are_messages() const {
  constexpr std::uint64_t kPieceBytes =
      65536;  // the maximum size of a piece; the same for all members, whatever size they request
  return is_short(kPieceBytes);
}

Pending& VendorLocalGroup::broadcast_piece(const Data& data, std::int32_t root,
                                           collectives::Piece& piece) {
  if (size_ == 1) return over();
  if (!pieces_are_messages()) return broadcast(data, root);
  return piece_message(data.base, data.count, datatype_of(*data.type), root, piece);
}

Pending& VendorLocalGroup::broadcast_piece(std::span<std::byte> bytes, std::int32_t root,
                                           collectives::Piece& piece) {
  if (size_ == 1) return over();
  if (!pieces_are_messages()) return broadcast(bytes, root);
  return piece_message(bytes.data(), bytes.size(), MPI_BYTE, root, piece);
}

Pending& VendorLocalGroup::piece_message(void* base, std::uint64_t count, MPI_Datatype type,
                                         std::int32_t root, collectives::Piece& piece) {
  Phase& phase = begin();
  if (rank_ != root) {
    phase.receive(base, count, type, root, MPI_ANY_TAG);
    phase.expect(piece.bytes, &piece);
    return phase;
  }
  for (int member = 0; member < size_; ++member) {
    if (member != root)
      phase.send(base, count, type, member, piece.last ? Phase::kPhaseTag : Phase::kMoreTag);
  }
  return phase;
}

Pending& VendorLocalGroup::short_reduce(const ConstData& contribution, const Data& result,
                                        const Reduction& operation, std::int32_t root) {
  Phase& phase = begin();
  const std::uint64_t count = contribution.count;
  const MPI_Datatype type = datatype_of(*contribution.type);
  if (rank_ != root) {
    phase.send(contribution.base, count, type, root);
    return phase;
  }
  phase.room =
      collectives::TypedRoom(*contribution.type, count * static_cast<std::uint64_t>(size_));
  for (int member = 0; member < size_; ++member) {
    const Data room = operand(phase.room, count, member);
    if (member == rank_) {
      copy(contribution, room);
    } else {
      phase.receive(room.base, count, type, member);
    }
  }
  phase.finish = [this, &phase, count, result, &operation] {
    copy(combine_all(phase.room, count, size_ - 1, operation), {result.base, count, result.type});
  };
  return phase;
}

Pending& VendorLocalGroup::short_scan(const ConstData& contribution, const Data& result,
                                      const Reduction& operation, bool inclusive) {
  Phase& phase = begin();
  const std::uint64_t count = contribution.count;
  const MPI_Datatype type = datatype_of(*contribution.type);
  phase.room =
      collectives::TypedRoom(*contribution.type, count * static_cast<std::uint64_t>(rank_ + 1));
  for (int member = 0; member < rank_; ++member)
    phase.receive(operand(phase.room, count, member).base, count, type, member);
  copy(contribution, operand(phase.room, count, rank_));
  for (int member = rank_ + 1; member < size_; ++member)
    phase.send(operand(phase.room, count, rank_).base, count, type, member);
  const int last = inclusive ? rank_ : rank_ - 1;
  if (last < 0) return phase;
  phase.finish = [&phase, count, last, result, &operation] {
    copy(combine_all(phase.room, count, last, operation), {result.base, count, result.type});
  };
  return phase;
}

Pending& VendorLocalGroup::gather_by_messages(std::span<const std::byte> block,
                                              std::span<std::byte> all, std::int32_t root) {
  const std::vector<std::uint64_t> sizes(static_cast<std::size_t>(size_), block.size());
  return gatherv(block, all, sizes, root);
}

}  // namespace impishim::shim
