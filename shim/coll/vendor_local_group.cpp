// SPDX-License-Identifier: Apache-2.0
#include "shim/coll/vendor_local_group.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <numeric>
#include <span>

#include "collectives/collectives.hpp"
#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/operands.hpp"
#include "collectives/core/task.hpp"
#include "collectives/local/message_group.hpp"
#include "collectives/local/message_phase.hpp"
#include "shim/coll/vendor_phase.hpp"
#include "shim/datatype/datatype_predefined.hpp"
#include "shim/datatype/element_type.hpp"
#include "shim/datatype/vendor_count.hpp"
#include "shim/handle/handle_bits.hpp"
#include "shim/vendor.hpp"

namespace impishim::shim {

using collectives::ConstData;
using collectives::Data;
using collectives::Pending;
using collectives::Reduction;
using collectives::Team;

namespace {

MPI_Op op_of(const Reduction& operation) { return from_bits<MPI_Op>(operation.native_handle()); }

/// Returns MPI_IN_PLACE if the contribution is in the result buffer, or else its address.
const void* or_in_place(const ConstData& contribution, const Data& result) {
  return contribution.base == result.base ? MPI_IN_PLACE : contribution.base;
}

/// The vendor's collectives use int counts.
constexpr std::uint64_t kMostElements = std::numeric_limits<int>::max();

/// Converts a count that is known to be at most kMostElements.
int int_count(std::uint64_t count) { return static_cast<int>(count); }

/// Returns true if the vendor's reductions can be used. They cannot if the count exceeds int. They
/// cannot with datatypes that are not predefined, as user operations have: Open MPI 4.1's
/// MPI_Ireduce writes before its temporary memory if the first byte of the data precedes its
/// origin. All members make the same decision, since they all pass the same count and datatype
/// (MPI-3.1 5.9.1).
bool vendor_reduces(const ConstData& contribution) {
  return contribution.count <= kMostElements &&
         predefined_layout(datatype_of(*contribution.type)) != nullptr;
}

bool too_large(std::span<const std::uint64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0}) > kMostElements;
}

/// Stores the counts and displacements of the blocks in the phase, where the vendor reads them in a
/// v-form.
void describe_blocks(VendorPhase& phase, std::span<const std::uint64_t> sizes) {
  std::ranges::transform(sizes, std::back_inserter(phase.counts), int_count);
  phase.displacements.resize(sizes.size());
  std::exclusive_scan(phase.counts.begin(), phase.counts.end(), phase.displacements.begin(), 0);
}

/// The number of phases by a team that can be in progress at one time. Their tags follow the tags
/// of other messages on a companion, up to the guaranteed minimum of MPI_TAG_UB (MPI-3.1 8.1.2).
constexpr std::int32_t kPhasesByTeam = 63;
static_assert((1 + kPhasesByTeam) * VendorTeam::kTags - 1 <= 32767);
static_assert(collectives::kPhasesUnderWay < kPhasesByTeam);

}  // namespace

VendorLocalGroup::VendorLocalGroup(MPI_Comm companion, int rank, int size)
    : companion_(companion), rank_(rank), size_(size), messages_(*this, rank, size) {}

VendorLocalGroup::~VendorLocalGroup() = default;

VendorPhase& VendorLocalGroup::begin() {
  VendorPhase& phase = phases_.emplace_back(*this);
  phase.place = std::prev(phases_.end());
  return phase;
}

collectives::MessagePhase& VendorLocalGroup::begin_messages() { return begin(); }

template <class MakeTask>
Pending& VendorLocalGroup::by_team(const MakeTask& make_task) {
  VendorPhase& phase = begin();
  // All members start their phases in the same order, so they assign the same tags to each phase. A
  // member's earlier phase with these tags is complete by then: both peers post messages with one
  // tag in the same order.
  const std::int32_t number = next_tags_++ % kPhasesByTeam;
  phase.run(
      std::make_unique<VendorTeam>(companion_, rank_, size_, (1 + number) * VendorTeam::kTags),
      make_task);
  return phase;
}

void VendorLocalGroup::progress() {
  for (VendorPhase& phase : phases_) phase.progress();
}

void VendorLocalGroup::give_up() {
  for (VendorPhase& phase : phases_) phase.give_up();
}

bool VendorLocalGroup::is_quiet() {
  return std::ranges::all_of(phases_, [](VendorPhase& phase) { return phase.is_quiet(); });
}

Pending& VendorLocalGroup::barrier() {
  if (size_ == 1) return alone_.barrier();
  VendorPhase& phase = begin();
  phase.code = vendor::Ibarrier(companion_, &phase.request);
  return phase;
}

Pending& VendorLocalGroup::vendor_broadcast(void* base, std::uint64_t count, MPI_Datatype type,
                                            std::int32_t root) {
  VendorPhase& phase = begin();
  const VendorCount elements(count, type);
  phase.code =
      vendor::Ibcast(base, elements.count(), elements.type(), root, companion_, &phase.request);
  return phase;
}

Pending& VendorLocalGroup::broadcast(const Data& data, std::int32_t root) {
  if (size_ == 1) return alone_.broadcast(data, root);
  if (messages_.is_short(ConstData(data).native_bytes())) return messages_.broadcast(data, root);
  return vendor_broadcast(data.base, data.count, datatype_of(*data.type), root);
}

Pending& VendorLocalGroup::broadcast(std::span<std::byte> bytes, std::int32_t root) {
  if (size_ == 1) return alone_.broadcast(bytes, root);
  if (messages_.is_short(bytes.size())) return messages_.broadcast(bytes, root);
  return vendor_broadcast(bytes.data(), bytes.size(), MPI_BYTE, root);
}

Pending& VendorLocalGroup::broadcast_piece(const Data& data, std::int32_t root,
                                           collectives::Piece& piece) {
  if (size_ == 1 || !messages_.pieces_are_short()) return broadcast(data, root);
  return messages_.broadcast_piece(data, root, piece);
}

Pending& VendorLocalGroup::broadcast_piece(std::span<std::byte> bytes, std::int32_t root,
                                           collectives::Piece& piece) {
  if (size_ == 1 || !messages_.pieces_are_short()) return broadcast(bytes, root);
  return messages_.broadcast_piece(bytes, root, piece);
}

Pending& VendorLocalGroup::reduce(const ConstData& contribution, const Data& result,
                                  const Reduction& operation, std::int32_t root) {
  if (size_ == 1) return alone_.reduce(contribution, result, operation, root);
  if (messages_.short_operands(contribution))
    return messages_.reduce(contribution, result, operation, root);
  if (!vendor_reduces(contribution)) {
    return by_team([&](const Team& team) {
      return collectives::reduce(team, contribution, result, operation, root);
    });
  }
  VendorPhase& phase = begin();
  const void* send = rank_ == root ? or_in_place(contribution, result) : contribution.base;
  phase.code = vendor::Ireduce(send, result.base, int_count(contribution.count),
                               datatype_of(*contribution.type), op_of(operation), root, companion_,
                               &phase.request);
  return phase;
}

Pending& VendorLocalGroup::allreduce(const ConstData& contribution, const Data& result,
                                     const Reduction& operation) {
  if (size_ == 1) return alone_.allreduce(contribution, result, operation);
  if (!vendor_reduces(contribution)) {
    return by_team([&](const Team& team) {
      return collectives::allreduce(team, contribution, result, operation);
    });
  }
  VendorPhase& phase = begin();
  phase.code = vendor::Iallreduce(or_in_place(contribution, result), result.base,
                                  int_count(contribution.count), datatype_of(*contribution.type),
                                  op_of(operation), companion_, &phase.request);
  return phase;
}

Pending& VendorLocalGroup::reduce_scatter(const ConstData& contribution, const Data& result,
                                          std::span<const std::uint64_t> counts,
                                          const Reduction& operation) {
  if (size_ == 1) return alone_.reduce_scatter(contribution, result, counts, operation);
  if (!vendor_reduces(contribution)) {
    return by_team([&](const Team& team) {
      return collectives::reduce_scatter(team, contribution, result, counts, operation);
    });
  }
  VendorPhase& phase = begin();
  std::ranges::transform(counts, std::back_inserter(phase.counts), int_count);
  phase.code = vendor::Ireduce_scatter(contribution.base, result.base, phase.counts.data(),
                                       datatype_of(*contribution.type), op_of(operation),
                                       companion_, &phase.request);
  return phase;
}

Pending& VendorLocalGroup::scan(const ConstData& contribution, const Data& result,
                                const Reduction& operation) {
  if (size_ == 1) return alone_.scan(contribution, result, operation);
  if (messages_.short_operands(contribution))
    return messages_.scan(contribution, result, operation);
  if (!vendor_reduces(contribution)) {
    return by_team(
        [&](const Team& team) { return collectives::scan(team, contribution, result, operation); });
  }
  VendorPhase& phase = begin();
  phase.code =
      vendor::Iscan(or_in_place(contribution, result), result.base, int_count(contribution.count),
                    datatype_of(*contribution.type), op_of(operation), companion_, &phase.request);
  return phase;
}

Pending& VendorLocalGroup::exscan(const ConstData& contribution, const Data& result,
                                  const Reduction& operation) {
  if (size_ == 1) return alone_.exscan(contribution, result, operation);
  if (messages_.short_operands(contribution))
    return messages_.exscan(contribution, result, operation);
  if (!vendor_reduces(contribution)) {
    return by_team([&](const Team& team) {
      return collectives::exscan(team, contribution, result, operation);
    });
  }
  VendorPhase& phase = begin();
  phase.code = vendor::Iexscan(or_in_place(contribution, result), result.base,
                               int_count(contribution.count), datatype_of(*contribution.type),
                               op_of(operation), companion_, &phase.request);
  return phase;
}

Pending& VendorLocalGroup::gather(std::span<const std::byte> block, std::span<std::byte> all,
                                  std::int32_t root) {
  if (size_ == 1) return alone_.gather(block, all, root);
  if (messages_.is_short(block.size())) return messages_.gather(block, all, root);
  const auto own = rank_ == root
                       ? all.subspan(static_cast<std::size_t>(rank_) * block.size(), block.size())
                       : all.first(0);
  VendorPhase& phase = begin();
  const VendorCount count(block.size(), MPI_BYTE);
  const bool in_place = rank_ == root && block.data() == own.data();
  phase.code =
      vendor::Igather(in_place ? MPI_IN_PLACE : block.data(), count.count(), count.type(),
                      all.data(), count.count(), count.type(), root, companion_, &phase.request);
  return phase;
}

// Only the root of gatherv and scatterv knows the sizes, so all members use the same method for
// every size: messages on the companion. The vendors' own v-forms consist of such messages, too.
// All members know the sizes of allgatherv.

Pending& VendorLocalGroup::gatherv(std::span<const std::byte> block, std::span<std::byte> all,
                                   std::span<const std::uint64_t> sizes, std::int32_t root) {
  return messages_.gatherv(block, all, sizes, root);
}

Pending& VendorLocalGroup::scatterv(std::span<const std::byte> all,
                                    std::span<const std::uint64_t> sizes,
                                    std::span<std::byte> block, std::int32_t root) {
  return messages_.scatterv(all, sizes, block, root);
}

Pending& VendorLocalGroup::allgatherv(std::span<const std::byte> block, std::span<std::byte> all,
                                      std::span<const std::uint64_t> sizes) {
  if (size_ == 1) return alone_.allgatherv(block, all, sizes);
  if (too_large(sizes) || messages_.is_short(all.size()))
    return messages_.allgatherv(block, all, sizes);
  VendorPhase& phase = begin();
  describe_blocks(phase, sizes);
  const bool in_place = block.data() == collectives::block_of(all, sizes, rank_).data();
  phase.code = vendor::Iallgatherv(
      in_place ? MPI_IN_PLACE : block.data(), int_count(block.size()), MPI_BYTE, all.data(),
      phase.counts.data(), phase.displacements.data(), MPI_BYTE, companion_, &phase.request);
  return phase;
}

}  // namespace impishim::shim
