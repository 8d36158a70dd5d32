// Reduce (IMPI 5.9): tag 190.
#include "collectives/collectives.hpp"
#include "collectives/pattern.hpp"

namespace impishim::collectives {
namespace {

/// The root combines what the masters send, in their order.
Task linear(const Team& team, Data sum, const Reduction& operation, std::int32_t root) {
  const Shape& shape = team.shape;
  if (shape.rank != root) {
    co_await team.leaders.post_send(root, kReduceTag, ConstData(sum).buffer());
    co_return;
  }
  const TypedRoom incoming(*sum.type, sum.count);
  for (const std::int32_t master : shape.masters) {
    if (shape.is_local(master)) continue;
    co_await team.leaders.post_receive(master, kReduceTag, incoming.data().buffer());
    operation.combine(incoming.data().base, sum.base, sum.count);
  }
}

/// Binomial tree among the masters, counted from the root's.
Task binomial(const Team& team, Data sum, const Reduction& operation, std::int32_t root) {
  const Shape& shape = team.shape;
  const std::int32_t clients = shape.client_count();
  const std::int32_t root_client = shape.client_of(root);
  const std::int32_t me = to_virtual(shape.my_client(), root_client, clients);
  const auto speaker_of = [&](std::int32_t node) { return shape.speaker(from_virtual(node, root_client, clients), root); };
  const auto children = binomial_children(me, clients);
  if (!children.empty()) {
    const TypedRoom incoming(*sum.type, sum.count);
    for (const std::int32_t child : children) {
      co_await team.leaders.post_receive(speaker_of(child), kReduceTag, incoming.data().buffer());
      operation.combine(incoming.data().base, sum.base, sum.count);
    }
  }
  if (me != 0) co_await team.leaders.post_send(speaker_of(binomial_parent(me)), kReduceTag, ConstData(sum).buffer());
}

Task among_masters(const Team& team, Data sum, const Reduction& operation, std::int32_t root) {
  const Form form = choose(Collective::kReduce, team.shape.client_count(), ConstData(sum).external_bytes(), team.limits);
  return form == Form::kTree ? binomial(team, sum, operation, root) : linear(team, sum, operation, root);
}

/// Any order of combining will do: local results first.
Task reduce_commutative(const Team& team, ConstData contribution, Data result, const Reduction& operation, std::int32_t root) {
  const Shape& shape = team.shape;
  const std::int32_t speaker = shape.speaker(shape.my_client(), root);
  const TypedRoom room(*contribution.type, shape.rank == speaker && shape.rank != root ? contribution.count : 0);
  const Data sum = shape.rank == root ? result : Data{room.data().base, contribution.count, contribution.type};
  co_await team.local.reduce(contribution, sum, operation, shape.local_rank(speaker));
  if (shape.rank == speaker) co_await among_masters(team, sum, operation, root);
}

/// Every process's data goes to the root, which combines from the highest rank down: r = x(i) op r.
Task reduce_in_order(const Team& team, ConstData contribution, Data result, const Reduction& operation, std::int32_t root) {
  const Shape& shape = team.shape;
  if (!shape.is_local(root)) {
    co_await team.leaders.post_send(root, kReduceTag, contribution.buffer());
    co_return;
  }
  const PackedBlock own(contribution);
  const std::size_t size = own.bytes().size();
  const Bytes local(shape.rank == root ? size * shape.spanning_ranks.size() : 0);
  co_await team.local.gather(own.bytes(), local.all(), shape.local_rank(root));
  if (shape.rank != root) co_return;
  const TypedRoom incoming(*result.type, result.count);
  for (std::int32_t rank = shape.size() - 1; rank >= 0; --rank) {
    const bool first = rank == shape.size() - 1;
    const Data& operand = first ? result : incoming.data();
    if (shape.is_local(rank)) {
      unpack(local.all().subspan(static_cast<std::size_t>(shape.local_rank(rank)) * size, size), operand);
    } else {
      co_await team.leaders.post_receive(rank, kReduceTag, operand.buffer());
    }
    if (!first) operation.combine(incoming.data().base, result.base, result.count);
  }
}

}  // namespace

Task reduce(const Team& team, ConstData contribution, Data result, const Reduction& operation, std::int32_t root) {
  return operation.commutative() ? reduce_commutative(team, contribution, result, operation, root)
                                 : reduce_in_order(team, contribution, result, operation, root);
}

}  // namespace impishim::collectives
