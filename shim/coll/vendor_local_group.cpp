// SPDX-License-Identifier: Apache-2.0
#include "shim/coll/vendor_local_group.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <utility>

#include "collectives/collectives.hpp"
#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/operands.hpp"
#include "collectives/core/task.hpp"
#include "shim/coll/single_system_team.hpp"
#include "shim/datatype/datatype_predefined.hpp"
#include "shim/datatype/element_type.hpp"
#include "shim/datatype/vendor_count.hpp"
#include "shim/handle/handle_bits.hpp"
#include "shim/vendor.hpp"
#include "wire/base/assert.hpp"
#include "wire/base/result.hpp"

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

std::uint64_t sum(std::span<const std::uint64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
}

bool too_large(std::span<const std::uint64_t> sizes) { return sum(sizes) > kMostElements; }

template <class Byte>
std::span<Byte> part(std::span<Byte> all, std::span<const std::uint64_t> sizes, int member) {
  const auto before = sizes.first(static_cast<std::size_t>(member));
  return all.subspan(sum(before), sizes[static_cast<std::size_t>(member)]);
}

void copy_bytes(std::span<const std::byte> from, std::span<std::byte> to) {
  if (!from.empty() && from.data() != to.data()) std::memcpy(to.data(), from.data(), from.size());
}

}  // namespace

VendorLocalGroup::Phase& VendorLocalGroup::begin() {
  Phase& phase = phases_.emplace_back(*this);
  phase.place = std::prev(phases_.end());
  return phase;
}

Pending& VendorLocalGroup::over() { return begin(); }

namespace {

/// The number of phases by messages that can be in progress at one time. Their tags follow the tags
/// of other messages on a companion, up to the guaranteed minimum of MPI_TAG_UB (MPI-3.1 8.1.2).
constexpr std::int32_t kPhasesByMessages = 63;
static_assert((1 + kPhasesByMessages) * SingleSystemTeam::kTags - 1 <= 32767);
static_assert(collectives::kPhasesUnderWay < kPhasesByMessages);

}  // namespace

template <class MakeTask>
Pending& VendorLocalGroup::by_messages(const MakeTask& make_task) {
  Phase& phase = begin();
  // All members start their phases in the same order, so they assign the same tags to each phase. A
  // member's earlier phase with these tags is complete by then: both peers post messages with one
  // tag in the same order.
  const std::int32_t number = next_tags_++ % kPhasesByMessages;
  phase.members = std::make_unique<SingleSystemTeam>(companion_, rank_, size_,
                                                     (1 + number) * SingleSystemTeam::kTags);
  phase.task.emplace(make_task(phase.members->team()));
  phase.task->step();
  return phase;
}

void VendorLocalGroup::progress() {
  for (Phase& phase : phases_) {
    if (phase.task) phase.task->step();
  }
}

VendorLocalGroup::Phase::Phase(VendorLocalGroup& group) : group_(group) {}
VendorLocalGroup::Phase::~Phase() = default;

bool VendorLocalGroup::Phase::done() {
  if (task) return task->step();
  if (!request_done() || !messages_done()) return false;
  if (code == MPI_SUCCESS && finish) std::exchange(finish, nullptr)();
  return true;
}

void VendorLocalGroup::Phase::keep_first(int new_code) {
  if (code == MPI_SUCCESS) code = new_code;
}

/// Tests the vendor's collective. A failed one is done.
bool VendorLocalGroup::Phase::request_done() {
  if (request == MPI_REQUEST_NULL) return true;
  int complete = 0;
  const int test_code = vendor::Test(&request, &complete, MPI_STATUS_IGNORE);
  keep_first(test_code);
  if (test_code != MPI_SUCCESS) request = MPI_REQUEST_NULL;
  return complete != 0 || test_code != MPI_SUCCESS;
}

/// Tests the messages. If one fails, the others still use their buffers until they are complete.
bool VendorLocalGroup::Phase::messages_done() {
  while (!messages.empty()) {
    int complete = 0;
    const int test_code = test_message(complete);
    keep_first(test_code);
    // One test progresses all messages, so the first pending message ends the round.
    if (complete == 0 && test_code == MPI_SUCCESS) return false;
    messages.pop_back();
  }
  return true;
}

int VendorLocalGroup::Phase::test_message(int& complete) {
  if (asked == 0 && piece == nullptr)
    return vendor::Test(&messages.back(), &complete, MPI_STATUS_IGNORE);
  MPI_Status status;
  const int outcome_code = vendor::Test(&messages.back(), &complete, &status);
  if (complete == 0 && outcome_code == MPI_SUCCESS) return outcome_code;
  int bytes = static_cast<int>(asked);  // no vendor reports the size of a message that is too long
  if (outcome_code == MPI_SUCCESS) vendor::Get_count(&status, MPI_BYTE, &bytes);
  if (piece != nullptr) *piece = {static_cast<std::uint64_t>(bytes), status.MPI_TAG == kPhaseTag};
  too_little_ = static_cast<std::uint64_t>(bytes) < asked;
  return outcome_code;
}

void VendorLocalGroup::Phase::send(const void* base, std::uint64_t count, MPI_Datatype type, int to,
                                   int tag) {
  if (code != MPI_SUCCESS) return;
  const VendorCount elements(count, type);
  code = vendor::Isend(base, elements.count(), elements.type(), to, tag, group_.companion_,
                       &messages.emplace_back(MPI_REQUEST_NULL));
}

void VendorLocalGroup::Phase::receive(void* base, std::uint64_t count, MPI_Datatype type, int from,
                                      int tag) {
  if (code != MPI_SUCCESS) return;
  IMPISHIM_ASSERT(receives == messages.size());
  ++receives;
  const VendorCount elements(count, type);
  code = vendor::Irecv(base, elements.count(), elements.type(), from, tag, group_.companion_,
                       &messages.emplace_back(MPI_REQUEST_NULL));
}

void VendorLocalGroup::Phase::give_up() {
  if (members) members->give_up();
  for (std::size_t i = 0; i < std::min(receives, messages.size()); ++i) {
    int complete = 0;
    if (vendor::Test(&messages[i], &complete, MPI_STATUS_IGNORE) == MPI_SUCCESS && complete == 0)
      vendor::Cancel(&messages[i]);
  }
}

bool VendorLocalGroup::Phase::is_quiet() {
  if (members && !members->is_quiet()) return false;
  if (!request_done()) return false;
  const std::size_t number = std::min(receives, messages.size());
  return std::all_of(messages.begin(), messages.begin() + static_cast<std::ptrdiff_t>(number),
                     [](MPI_Request& message) {
                       int complete = 0;
                       const int test_code = vendor::Test(&message, &complete, MPI_STATUS_IGNORE);
                       return complete != 0 || test_code != MPI_SUCCESS;
                     });
}

void VendorLocalGroup::give_up() {
  for (Phase& phase : phases_) phase.give_up();
}

bool VendorLocalGroup::is_quiet() {
  return std::ranges::all_of(phases_, [](Phase& phase) { return phase.is_quiet(); });
}

Result<void> VendorLocalGroup::Phase::outcome() {
  const int outcome_code = members ? members->first_code() : code;
  Result<void> of_task = task ? task->outcome() : Result<void>();
  if (too_little_) {
    of_task =
        Error{ErrorKind::kTooLittle,
              "message sizes do not match across processes: less has come than was asked for"};
  }
  if (group_.first_code_ == MPI_SUCCESS) group_.first_code_ = outcome_code;
  group_.phases_.erase(place);  // destroys this object
  if (outcome_code == MPI_SUCCESS) return of_task;
  return Error{ErrorKind::kSystem, "the phase inside this system failed"};
}

Pending& VendorLocalGroup::barrier() {
  if (size_ == 1) return over();
  Phase& phase = begin();
  phase.code = vendor::Ibarrier(companion_, &phase.request);
  return phase;
}

Pending& VendorLocalGroup::broadcast(const Data& data, std::int32_t root) {
  if (size_ == 1) return over();
  if (is_short(ConstData(data).native_bytes())) return short_broadcast(data, root);
  Phase& phase = begin();
  const VendorCount count(data.count, datatype_of(*data.type));
  phase.code =
      vendor::Ibcast(data.base, count.count(), count.type(), root, companion_, &phase.request);
  return phase;
}

Pending& VendorLocalGroup::broadcast(std::span<std::byte> bytes, std::int32_t root) {
  if (size_ == 1) return over();
  if (is_short(bytes.size())) return short_broadcast(bytes, root);
  Phase& phase = begin();
  const VendorCount count(bytes.size(), MPI_BYTE);
  phase.code =
      vendor::Ibcast(bytes.data(), count.count(), count.type(), root, companion_, &phase.request);
  return phase;
}

Pending& VendorLocalGroup::reduce(const ConstData& contribution, const Data& result,
                                  const Reduction& operation, std::int32_t root) {
  if (size_ == 1) {
    copy(contribution, result);
    return over();
  }
  if (short_operands(contribution)) return short_reduce(contribution, result, operation, root);
  if (!vendor_reduces(contribution)) {
    return by_messages([&](const Team& team) {
      return collectives::reduce(team, contribution, result, operation, root);
    });
  }
  Phase& phase = begin();
  const void* send = rank_ == root ? or_in_place(contribution, result) : contribution.base;
  phase.code = vendor::Ireduce(send, result.base, int_count(contribution.count),
                               datatype_of(*contribution.type), op_of(operation), root, companion_,
                               &phase.request);
  return phase;
}

Pending& VendorLocalGroup::allreduce(const ConstData& contribution, const Data& result,
                                     const Reduction& operation) {
  if (size_ == 1) {
    copy(contribution, result);
    return over();
  }
  if (!vendor_reduces(contribution)) {
    return by_messages([&](const Team& team) {
      return collectives::allreduce(team, contribution, result, operation);
    });
  }
  Phase& phase = begin();
  phase.code = vendor::Iallreduce(or_in_place(contribution, result), result.base,
                                  int_count(contribution.count), datatype_of(*contribution.type),
                                  op_of(operation), companion_, &phase.request);
  return phase;
}

Pending& VendorLocalGroup::reduce_scatter(const ConstData& contribution, const Data& result,
                                          std::span<const std::uint64_t> counts,
                                          const Reduction& operation) {
  if (size_ == 1) {
    copy({contribution.base, counts[0], contribution.type}, result);
    return over();
  }
  if (!vendor_reduces(contribution)) {
    return by_messages([&](const Team& team) {
      return collectives::reduce_scatter(team, contribution, result, counts, operation);
    });
  }
  Phase& phase = begin();
  std::ranges::transform(counts, std::back_inserter(phase.counts), int_count);
  phase.code = vendor::Ireduce_scatter(contribution.base, result.base, phase.counts.data(),
                                       datatype_of(*contribution.type), op_of(operation),
                                       companion_, &phase.request);
  return phase;
}

Pending& VendorLocalGroup::scan(const ConstData& contribution, const Data& result,
                                const Reduction& operation) {
  if (size_ == 1) {
    copy(contribution, result);
    return over();
  }
  if (short_operands(contribution)) return short_scan(contribution, result, operation, true);
  if (!vendor_reduces(contribution)) {
    return by_messages(
        [&](const Team& team) { return collectives::scan(team, contribution, result, operation); });
  }
  Phase& phase = begin();
  phase.code =
      vendor::Iscan(or_in_place(contribution, result), result.base, int_count(contribution.count),
                    datatype_of(*contribution.type), op_of(operation), companion_, &phase.request);
  return phase;
}

Pending& VendorLocalGroup::exscan(const ConstData& contribution, const Data& result,
                                  const Reduction& operation) {
  if (size_ == 1) return over();
  if (short_operands(contribution)) return short_scan(contribution, result, operation, false);
  if (!vendor_reduces(contribution)) {
    return by_messages([&](const Team& team) {
      return collectives::exscan(team, contribution, result, operation);
    });
  }
  Phase& phase = begin();
  phase.code = vendor::Iexscan(or_in_place(contribution, result), result.base,
                               int_count(contribution.count), datatype_of(*contribution.type),
                               op_of(operation), companion_, &phase.request);
  return phase;
}

Pending& VendorLocalGroup::gather(std::span<const std::byte> block, std::span<std::byte> all,
                                  std::int32_t root) {
  const auto own = rank_ == root
                       ? all.subspan(static_cast<std::size_t>(rank_) * block.size(), block.size())
                       : all.first(0);
  if (size_ == 1) {
    copy_bytes(block, own);
    return over();
  }
  if (is_short(block.size())) return gather_by_messages(block, all, root);
  Phase& phase = begin();
  const VendorCount count(block.size(), MPI_BYTE);
  const bool in_place = rank_ == root && block.data() == own.data();
  phase.code =
      vendor::Igather(in_place ? MPI_IN_PLACE : block.data(), count.count(), count.type(),
                      all.data(), count.count(), count.type(), root, companion_, &phase.request);
  return phase;
}

namespace {

/// Stores the counts and displacements of the blocks in the phase, where the vendor reads them in a
/// v-form.
template <class Phase>
void describe_blocks(Phase& phase, std::span<const std::uint64_t> sizes) {
  std::ranges::transform(sizes, std::back_inserter(phase.counts), int_count);
  phase.displacements.resize(sizes.size());
  std::exclusive_scan(phase.counts.begin(), phase.counts.end(), phase.displacements.begin(), 0);
}

}  // namespace

// Only the root of gatherv and scatterv knows the sizes, so all members use the same method for
// every size: messages on the companion. The vendors' own v-forms consist of such messages, too.
// All members know the sizes of allgatherv.

Pending& VendorLocalGroup::gatherv(std::span<const std::byte> block, std::span<std::byte> all,
                                   std::span<const std::uint64_t> sizes, std::int32_t root) {
  Phase& phase = begin();
  if (rank_ != root) {
    if (!block.empty()) phase.send(block, root);
    return phase;
  }
  phase.messages.reserve(static_cast<std::size_t>(size_));
  for (int member = 0; member < size_; ++member) {
    const auto room = part(all, sizes, member);
    if (member == rank_) {
      copy_bytes(block, room);
    } else if (!room.empty()) {
      phase.receive(room, member);
    }
  }
  return phase;
}

Pending& VendorLocalGroup::scatterv(std::span<const std::byte> all,
                                    std::span<const std::uint64_t> sizes,
                                    std::span<std::byte> block, std::int32_t root) {
  Phase& phase = begin();
  if (rank_ != root) {
    if (!block.empty()) phase.receive(block, root);
    return phase;
  }
  phase.messages.reserve(static_cast<std::size_t>(size_));
  for (int member = 0; member < size_; ++member) {
    const auto bytes = part(all, sizes, member);
    if (member == rank_) {
      copy_bytes(bytes, block);
    } else if (!bytes.empty()) {
      phase.send(bytes, member);
    }
  }
  return phase;
}

Pending& VendorLocalGroup::allgatherv(std::span<const std::byte> block, std::span<std::byte> all,
                                      std::span<const std::uint64_t> sizes) {
  const auto own = part(all, sizes, rank_);
  if (size_ == 1) {
    copy_bytes(block, own);
    return over();
  }
  if (too_large(sizes) || is_short(all.size())) return allgatherv_by_messages(block, all, sizes);
  Phase& phase = begin();
  describe_blocks(phase, sizes);
  const bool in_place = block.data() == own.data();
  phase.code = vendor::Iallgatherv(
      in_place ? MPI_IN_PLACE : block.data(), int_count(block.size()), MPI_BYTE, all.data(),
      phase.counts.data(), phase.displacements.data(), MPI_BYTE, companion_, &phase.request);
  return phase;
}

Pending& VendorLocalGroup::allgatherv_by_messages(std::span<const std::byte> block,
                                                  std::span<std::byte> all,
                                                  std::span<const std::uint64_t> sizes) {
  Phase& phase = begin();
  copy_bytes(block, part(all, sizes, rank_));
  for (int member = 0; member < size_; ++member) {
    if (member != rank_) phase.receive(part(all, sizes, member), member);
  }
  for (int member = 0; member < size_; ++member) {
    if (member != rank_) phase.send(block, member);
  }
  return phase;
}

}  // namespace impishim::shim
