// SPDX-License-Identifier: Apache-2.0
// Allreduce. IMPI 5.10: Reduce to rank 0, then Bcast. Own forms: collectives/README.md.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "collectives/collectives.hpp"
#include "collectives/core/circle.hpp"
#include "collectives/core/data.hpp"
#include "collectives/core/groups.hpp"
#include "collectives/core/operands.hpp"
#include "collectives/core/select.hpp"
#include "collectives/core/task.hpp"
#include "collectives/reduction/runs.hpp"
#include "collectives/reduction/slices.hpp"

namespace impishim::collectives {
namespace {

Circle masters_of(const Shape& shape) {
  return {{shape.masters.begin(), shape.masters.end()},
          static_cast<std::size_t>(shape.my_client())};
}

/// Pipelines an exchange: while a segment crosses, the next ones are reduced and earlier results
/// are broadcast inside the clients. The loop is the same in all members of a client, because they
/// must start local phases in the same order.
Task pipelined_exchange(const Team& team, ConstData contribution, Data result,
                        const Reduction& operation) {
  const Shape& shape = team.shape;
  const Circle circle = masters_of(shape);
  const Segments segments(contribution, team.limits);
  const std::uint64_t number = segments.number();
  const bool is_master = shape.local_rank(shape.rank) == 0;
  std::optional<Exchange> exchange;
  std::vector<std::int32_t> runs(circle.size());
  for (std::size_t i = 0; i < runs.size(); ++i) runs[i] = static_cast<std::int32_t>(i);
  if (is_master) exchange.emplace(team, circle, runs, result, segments);
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

/// For an operation that does not commute: masters exchange their clients' runs of ranks.
Task exchange_of_runs(const Team& team, const std::vector<Run>& runs, ConstData contribution,
                      Data result, const Reduction& operation) {
  const Shape& shape = team.shape;
  const bool is_master = shape.local_rank(shape.rank) == 0;
  const TypedRoom own(*contribution.type,
                      is_master ? contribution.count * runs_of(runs, shape.my_client()) : 0);
  co_await reduce_runs(team, runs, contribution, own.data(), operation,
                       shape.masters[static_cast<std::size_t>(shape.my_client())]);
  if (is_master) {
    const Circle circle = masters_of(shape);
    const Segments segments(contribution, team.limits);
    std::vector<std::int32_t> clients;
    clients.reserve(runs.size());
    for (const Run& run : runs) clients.push_back(run.client);
    Exchange exchange(team, circle, clients, own.data(), segments);
    for (std::uint64_t k = 0; k < segments.number(); ++k) exchange.send(k);
    for (std::uint64_t k = 0; k < segments.number(); ++k)
      co_await exchange.finish(k, result, operation);
  }
  co_await team.local.broadcast(result, 0);
}

/// Reduces locally to the master, runs `form` among masters, and broadcasts locally.
Task by_masters(const Team& team, Form form, ConstData contribution, Data result,
                const Reduction& operation) {
  const Shape& shape = team.shape;
  co_await team.local.reduce(contribution, result, operation, 0);
  if (shape.local_rank(shape.rank) == 0) {
    const Circle circle = masters_of(shape);
    co_await allreduce_among(team, form, circle, result, operation);
  }
  co_await team.local.broadcast(result, 0);
}

Task rooted(const Team& team, ConstData contribution, Data result, const Reduction& operation) {
  co_await reduce(team, contribution, result, operation, 0);
  co_await bcast(team, result, 0);
}

}  // namespace

Task allreduce(const Team& team, ConstData contribution, Data result, const Reduction& operation) {
  const Shape& shape = team.shape;
  const auto runs = runs_for(shape, operation);
  const bool in_order = one_for_each_client(runs, shape);
  const bool slices = operation.commutative() && slice_count(shape) > 1;
  const auto has =
      static_cast<std::uint8_t>((in_order ? kInOrder : kNothing) | (slices ? kSlices : kNothing));
  const Form form = choose(Collective::kAllreduce, shape.client_count(),
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
    co_await exchange_of_runs(team, runs, contribution, result, operation);
  }
}

}  // namespace impishim::collectives
