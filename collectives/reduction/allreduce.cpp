// SPDX-License-Identifier: Apache-2.0
// Allreduce. IMPI 5.10: Reduce to rank 0, then Bcast. Own forms: collectives/README.md.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "collectives/collectives.hpp"
#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/operands.hpp"
#include "collectives/core/partial_exchange.hpp"
#include "collectives/core/select.hpp"
#include "collectives/core/task.hpp"
#include "collectives/reduction/client_ranges.hpp"
#include "collectives/reduction/sliced_reduction.hpp"

namespace impishim::collectives {
namespace {

Participants masters_of(const Membership& membership) {
  return {{membership.masters.begin(), membership.masters.end()},
          static_cast<std::size_t>(membership.my_client())};
}

/// Pipelines an exchange: while a segment crosses, the next ones are reduced and earlier results
/// are broadcast inside the clients. The loop is the same in all members of a client, because they
/// must start local phases in the same order.
Task pipelined_exchange(const Team& team, ConstData contribution, Data result,
                        const Reduction& operation) {
  const Membership& membership = team.membership;
  const Participants participants = masters_of(membership);
  const Segments segments(contribution, team.limits);
  const std::uint64_t number = segments.number();
  const bool is_master = membership.local_rank(membership.rank) == 0;
  std::optional<PartialExchange> exchange;
  std::vector<std::int32_t> ranges(participants.size());
  for (std::size_t i = 0; i < ranges.size(); ++i) ranges[i] = static_cast<std::int32_t>(i);
  if (is_master) exchange.emplace(team, participants, ranges, result, segments);
  std::vector<Pending*> reduces;
  std::vector<Pending*> broadcasts;
  const auto reduce_next = [&] {
    const std::uint64_t k = reduces.size();
    if (k < number)
      reduces.push_back(
          &team.local.reduce(segments.of(contribution, k), segments.of(result, k), operation, 0));
  };
  for (std::uint64_t k = 0; k < kPhasesUnderWay; ++k) reduce_next();
  for (std::uint64_t k = 0; k < number + kSegmentsUnderWay; ++k) {
    if (k < number) {
      co_await *reduces[k];
      if (is_master) exchange->send(k);
      reduce_next();
    }
    const std::uint64_t back = k - kSegmentsUnderWay;
    if (k < kSegmentsUnderWay || back >= number) continue;
    if (is_master) co_await exchange->finish(back, result, operation);
    if (back >= kPhasesUnderWay) co_await *broadcasts[back - kPhasesUnderWay];
    broadcasts.push_back(&team.local.broadcast(segments.of(result, back), 0));
  }
  const std::uint64_t awaited = number > kPhasesUnderWay ? number - kPhasesUnderWay : 0;
  for (std::uint64_t k = awaited; k < number; ++k) co_await *broadcasts[k];
}

/// For an operation that does not commute: masters exchange their clients' ranges of ranks.
Task exchange_of_ranges(const Team& team, const std::vector<ClientRange>& ranges,
                        ConstData contribution, Data result, const Reduction& operation) {
  const Membership& membership = team.membership;
  const bool is_master = membership.local_rank(membership.rank) == 0;
  const TypedRoom own(
      *contribution.type,
      is_master ? contribution.count * number_of_ranges(ranges, membership.my_client()) : 0);
  co_await reduce_ranges(team, ranges, contribution, own.data(), operation,
                         membership.masters[static_cast<std::size_t>(membership.my_client())]);
  if (is_master) {
    const Participants participants = masters_of(membership);
    const Segments segments(contribution, team.limits);
    std::vector<std::int32_t> clients;
    clients.reserve(ranges.size());
    for (const ClientRange& range : ranges) clients.push_back(range.client);
    PartialExchange exchange(team, participants, clients, own.data(), segments);
    for (std::uint64_t k = 0; k < segments.number(); ++k) exchange.send(k);
    for (std::uint64_t k = 0; k < segments.number(); ++k)
      co_await exchange.finish(k, result, operation);
  }
  co_await team.local.broadcast(result, 0);
}

/// Reduces locally to the master, runs `form` among masters, and broadcasts locally.
Task by_masters(const Team& team, Form form, ConstData contribution, Data result,
                const Reduction& operation) {
  const Membership& membership = team.membership;
  co_await team.local.reduce(contribution, result, operation, 0);
  if (membership.local_rank(membership.rank) == 0) {
    const Participants participants = masters_of(membership);
    co_await allreduce_among(team, form, participants, result, operation);
  }
  co_await team.local.broadcast(result, 0);
}

Task rooted(const Team& team, ConstData contribution, Data result, const Reduction& operation) {
  co_await reduce(team, contribution, result, operation, 0);
  co_await bcast(team, result, 0);
}

}  // namespace

Task allreduce(const Team& team, ConstData contribution, Data result, const Reduction& operation) {
  const Membership& membership = team.membership;
  const auto ranges = ranges_for(membership, operation);
  const bool in_order = one_for_each_client(ranges, membership);
  const bool slices = operation.commutative() && slice_count(membership) > 1;
  const auto has =
      static_cast<std::uint8_t>((in_order ? kInOrder : kNothing) | (slices ? kSlices : kNothing));
  const Form form = choose(Collective::kAllreduce, membership.client_count(),
                           contribution.external_bytes(), team.limits, has);
  if (form == Form::kRooted) {
    co_await rooted(team, contribution, result, operation);
  } else if (form == Form::kSliced) {
    co_await allreduce_in_slices(team, contribution, result, operation);
  } else if (form != Form::kExchange) {
    co_await by_masters(team, form, contribution, result, operation);
  } else if (in_order) {
    co_await pipelined_exchange(team, contribution, result, operation);
  } else {
    co_await exchange_of_ranges(team, ranges, contribution, result, operation);
  }
}

}  // namespace impishim::collectives
