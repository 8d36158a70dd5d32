// SPDX-License-Identifier: Apache-2.0
#include "collectives/reduction/sliced_reduction.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/operands.hpp"
#include "collectives/core/partial_exchange.hpp"
#include "collectives/core/select.hpp"
#include "collectives/core/task.hpp"
#include "collectives/reduction/client_ranges.hpp"

namespace impishim::collectives {

std::int32_t slice_count(const Membership& membership) {
  return std::ranges::min(member_counts(membership));
}

namespace {

/// Returns the elements of each local member's slice. Members beyond the number of slices have
/// none.
std::vector<std::uint64_t> slice_sizes(const Membership& membership, std::uint64_t count) {
  std::vector<std::uint64_t> sizes(membership.spanning_ranks.size(), 0);
  const auto slices = static_cast<std::uint64_t>(slice_count(membership));
  for (std::uint64_t i = 0; i < slices; ++i)
    sizes[i] = count * (i + 1) / slices - count * i / slices;
  return sizes;
}

std::vector<std::uint64_t> byte_sizes(const std::vector<std::uint64_t>& sizes,
                                      const ElementType& type) {
  std::vector<std::uint64_t> bytes;
  for (const std::uint64_t size : sizes)
    bytes.push_back(ConstData{nullptr, size, &type}.native_bytes());
  return bytes;
}

Participants counterparts(const Membership& membership, std::int32_t slice) {
  return {nth_members(membership, slice), static_cast<std::size_t>(membership.my_client())};
}

/// The memory in which all packed slices are assembled: `whole` itself if it has no gaps.
class Assembly {
 public:
  explicit Assembly(const Data& whole) : whole_(whole) {
    if (!ConstData(whole).straight()) room_.emplace(ConstData(whole).native_bytes());
  }
  [[nodiscard]] std::span<std::byte> bytes() const {
    if (room_) return room_->all();
    return {moved(whole_.base, whole_.type->layout->first_offset()),
            ConstData(whole_).native_bytes()};
  }
  void finish() const {
    if (room_) unpack(room_->all(), whole_);
  }

 private:
  Data whole_;
  std::optional<Bytes> room_;
};

}  // namespace

Task allreduce_in_slices(const Team& team, ConstData contribution, Data result,
                         const Reduction& operation) {
  const Membership& membership = team.membership;
  const std::int32_t slice = membership.local_rank(membership.rank);
  const auto sizes = slice_sizes(membership, contribution.count);
  const auto bytes = byte_sizes(sizes, *result.type);
  const std::uint64_t size = sizes[static_cast<std::size_t>(slice)];
  const TypedRoom mine(*result.type, size);
  co_await team.local.reduce_scatter(contribution, mine.data(), sizes, operation);
  if (slice < slice_count(membership)) {
    const Participants participants = counterparts(membership, slice);
    // Slices may differ by an element, so the choice is made from the size of all data.
    const std::uint64_t share =
        contribution.external_bytes() / static_cast<std::uint64_t>(slice_count(membership));
    const Form form = choose(Collective::kAllreduce, membership.client_count(), share, team.limits);
    co_await allreduce_among(team, form, participants, mine.data(), operation);
  }
  const Assembly assembly(result);
  const PackedBlock packed(mine.data());
  co_await team.local.allgatherv(packed.bytes(), assembly.bytes(), bytes);
  assembly.finish();
}

namespace {

/// Combines one slice in the root's client.
Task combine_slices(const Team& team, const Participants& participants, Data sum, Segments segments,
                    const Reduction& operation) {
  std::vector<Operand> operands;
  for (std::size_t place = 0; place < participants.size(); ++place) {
    if (place != participants.me) operands.push_back({participants.members[place], {}});
  }
  operands.push_back({-1, sum});
  Operands arriving(team.leaders, kReduceSegmentTag, operands, *sum.type, segments);
  for (std::uint64_t k = 0; k < segments.number(); ++k)
    co_await arriving.combine(k, sum, operation);
}

}  // namespace

Task reduce_in_slices(const Team& team, ConstData contribution, Data result,
                      const Reduction& operation, std::int32_t root) {
  const Membership& membership = team.membership;
  const std::int32_t slice = membership.local_rank(membership.rank);
  const auto sizes = slice_sizes(membership, contribution.count);
  const auto bytes = byte_sizes(sizes, *contribution.type);
  const std::uint64_t size = sizes[static_cast<std::size_t>(slice)];
  const TypedRoom mine(*contribution.type, size);
  co_await team.local.reduce_scatter(contribution, mine.data(), sizes, operation);
  const Segments segments(size, Segments(contribution, team.limits));
  if (slice < slice_count(membership)) {
    const Participants participants = counterparts(membership, slice);
    if (membership.is_local(root)) {
      co_await combine_slices(team, participants, mine.data(), segments, operation);
    } else {
      const std::int32_t counterpart =
          participants.members[static_cast<std::size_t>(membership.client_of(root))];
      post_send_segments(team.leaders, counterpart, kReduceSegmentTag, mine.data(), segments);
      co_await team.leaders.all_posted();
    }
  }
  if (!membership.is_local(root)) co_return;
  std::optional<Assembly> assembly;
  if (membership.rank == root) assembly.emplace(result);
  const PackedBlock packed(mine.data());
  const auto all = assembly ? assembly->bytes() : std::span<std::byte>();
  co_await team.local.gatherv(packed.bytes(), all, bytes, membership.local_rank(root));
  if (assembly) assembly->finish();
}

Task allreduce_among(const Team& team, Form form, const Participants& participants, Data sum,
                     const Reduction& operation) {
  const Segments segments(sum, team.limits);
  if (form == Form::kExchange) {
    co_await allreduce_by_exchange(team, participants, sum, segments, operation);
  } else if (form == Form::kDoubling) {
    co_await allreduce_by_doubling(team, participants, sum, segments, operation);
  } else {
    co_await allreduce_by_parts(team, participants, sum, segments, operation);
  }
}

}  // namespace impishim::collectives
