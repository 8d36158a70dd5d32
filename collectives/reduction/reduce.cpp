// SPDX-License-Identifier: Apache-2.0
// Reduce. IMPI 5.9: tag 190. Own forms: collectives/README.md.
#include <cstddef>
#include <cstdint>
#include <vector>
#include "collectives/collectives.hpp"
#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/operands.hpp"
#include "collectives/core/pattern.hpp"
#include "collectives/core/select.hpp"
#include "collectives/core/task.hpp"
#include "collectives/reduction/client_ranges.hpp"
#include "collectives/reduction/sliced_reduction.hpp"

namespace impishim::collectives {
namespace {

/// The processes that a client's speaker receives from and sends to.
struct Place {
  std::vector<std::int32_t> children;
  std::int32_t parent = -1;  ///< none at the root
};

/// Linear: every speaker sends to the root. Tree: binomial, counted from the root's client.
Place place_in(Form form, const Membership& membership, std::int32_t root) {
  const std::int32_t clients = membership.client_count();
  const std::int32_t root_client = membership.client_of(root);
  const std::int32_t me = to_virtual(membership.my_client(), root_client, clients);
  const auto speaker_of = [&](std::int32_t node) {
    return membership.speaker(from_virtual(node, root_client, clients), root);
  };
  Place place;
  if (me != 0) place.parent = speaker_of(form == Form::kTree ? binomial_parent(me) : 0);
  if (form == Form::kTree) {
    for (const std::int32_t child : binomial_children(me, clients))
      place.children.push_back(speaker_of(child));
  } else if (me == 0) {
    for (const std::int32_t master : membership.masters) {
      if (!membership.is_local(master)) place.children.push_back(master);
    }
  }
  return place;
}

/// Returns the operands that the speaker combines: in the order of clients if `in_order`, otherwise
/// with the own operand last.
std::vector<Operand> operands_of(const Membership& membership, const Place& place, const Data& own,
                                 bool in_order) {
  std::vector<Operand> operands;
  bool own_in = false;
  for (const std::int32_t child : place.children) {
    if (in_order && !own_in && membership.client_of(child) > membership.my_client()) {
      operands.push_back({-1, own});
      own_in = true;
    }
    operands.push_back({child, {}});
  }
  if (!own_in) operands.push_back({-1, own});
  return operands;
}

/// Sends one result per client. Local reductions of the next segments continue while a segment
/// travels. With foreign implementations, which do not know segments, there is a single one.
Task through_speakers(const Team& team, Form form, ConstData contribution, Data result,
                      const Reduction& operation, std::int32_t root) {
  const Membership& membership = team.membership;
  const std::int32_t speaker = membership.speaker(membership.my_client(), root);
  const bool speaks = membership.rank == speaker;
  const Tag tag = team.limits.impi_only ? kReduceTag : kReduceSegmentTag;
  const Segments segments(contribution, team.limits);
  const Place place = speaks ? place_in(form, membership, root) : Place();
  const TypedRoom room(*contribution.type,
                       speaks && membership.rank != root ? contribution.count : 0);
  const Data sum = membership.rank == root
                       ? result
                       : Data{room.data().base, contribution.count, contribution.type};
  Operands operands(team.leaders, tag,
                    operands_of(membership, place, sum, !operation.commutative()),
                    *contribution.type, segments);
  std::vector<Pending*> reduces;
  const auto reduce_next = [&] {
    const std::uint64_t k = reduces.size();
    if (k == segments.number()) return;
    const Data target = speaks ? segments.of(sum, k) : Data();
    reduces.push_back(&team.local.reduce(segments.of(contribution, k), target, operation,
                                         membership.local_rank(speaker)));
  };
  for (std::uint64_t k = 0; k < kPhasesUnderWay; ++k) reduce_next();
  for (std::uint64_t k = 0; k < segments.number(); ++k) {
    co_await *reduces[k];
    if (speaks) co_await operands.combine(k, sum, operation);
    if (speaks && membership.rank != root)
      team.leaders.post_send(place.parent, tag, segments.of(sum, k));
    reduce_next();
  }
  co_await team.leaders.all_posted();
}

/// Sends the ranges of ranks to the root, which combines them in order. For operations that do not
/// commute where ranks alternate between clients.
Task in_runs(const Team& team, const std::vector<ClientRange>& ranges, ConstData contribution,
             Data result, const Reduction& operation, std::int32_t root) {
  const Membership& membership = team.membership;
  const std::int32_t speaker = membership.speaker(membership.my_client(), root);
  const std::uint64_t own_runs = number_of_ranges(ranges, membership.my_client());
  const TypedRoom own(*contribution.type,
                      membership.rank == speaker ? contribution.count * own_runs : 0);
  co_await reduce_ranges(team, ranges, contribution, own.data(), operation, speaker);
  if (membership.rank != speaker) co_return;
  const Segments segments(contribution, team.limits);
  std::vector<Operand> operands;
  std::uint64_t next_own = 0;
  for (const ClientRange& range : ranges) {
    if (range.client == membership.my_client()) {
      operands.push_back(
          {-1, own.data().elements(next_own++ * contribution.count, contribution.count)});
    } else {
      operands.push_back({membership.speaker(range.client, root), {}});
    }
  }
  if (membership.rank == root) {
    Operands arriving(team.leaders, kReduceSegmentTag, operands, *contribution.type, segments);
    for (std::uint64_t k = 0; k < segments.number(); ++k)
      co_await arriving.combine(k, result, operation);
    co_return;
  }
  for (std::uint64_t k = 0; k < segments.number(); ++k) {
    for (const Operand& operand : operands) {
      if (operand.from < 0)
        team.leaders.post_send(root, kReduceSegmentTag, segments.of(operand.own, k));
    }
  }
  co_await team.leaders.all_posted();
}

/// IMPI's form: every process sends its data to the root, which combines from the highest rank
/// down: r = x(i) op r.
Task one_by_one(const Team& team, ConstData contribution, Data result, const Reduction& operation,
                std::int32_t root) {
  const Membership& membership = team.membership;
  if (!membership.is_local(root)) {
    co_await team.leaders.post_send(root, kReduceTag, contribution);
    co_return;
  }
  const PackedBlock own(contribution);
  const std::size_t size = own.bytes().size();
  const Bytes local(membership.rank == root ? size * membership.spanning_ranks.size() : 0);
  co_await team.local.gather(own.bytes(), local.all(), membership.local_rank(root));
  if (membership.rank != root) co_return;
  const TypedRoom incoming(*result.type, result.count);
  for (std::int32_t rank = membership.size() - 1; rank >= 0; --rank) {
    const bool first = rank == membership.size() - 1;
    const Data& operand = first ? result : incoming.data();
    if (membership.is_local(rank)) {
      unpack(
          local.all().subspan(static_cast<std::size_t>(membership.local_rank(rank)) * size, size),
          operand);
    } else {
      co_await team.leaders.post_receive(rank, kReduceTag, operand);
    }
    if (!first) operation.combine(incoming.data().base, result.base, result.count);
  }
}

}  // namespace

Task reduce(const Team& team, ConstData contribution, Data result, const Reduction& operation,
            std::int32_t root) {
  const Membership& membership = team.membership;
  if (membership.client_count() == 1) {
    co_await team.local.reduce(contribution, result, operation, membership.local_rank(root));
    co_return;
  }
  if (!operation.commutative() && team.limits.impi_only) {
    co_await one_by_one(team, contribution, result, operation, root);
    co_return;
  }
  const auto ranges = ranges_for(membership, operation);
  if (!one_for_each_client(ranges, membership)) {
    co_await in_runs(team, ranges, contribution, result, operation, root);
    co_return;
  }
  const std::uint8_t has = slice_count(membership) > 1 ? kInOrder | kSlices : kInOrder;
  const Form form = operation.commutative()
                        ? choose(Collective::kReduce, membership.client_count(),
                                 contribution.external_bytes(), team.limits, has)
                        : Form::kLinear;
  if (form == Form::kSliced) {
    co_await reduce_in_slices(team, contribution, result, operation, root);
  } else {
    co_await through_speakers(team, form, contribution, result, operation, root);
  }
}

}  // namespace impishim::collectives
