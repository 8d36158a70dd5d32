// Barrier (IMPI 5.4): tag 110, empty messages.
#include "collectives/collectives.hpp"
#include "collectives/pattern.hpp"

namespace impishim::collectives {
namespace {

const wire::TypeLayout& nothing() { return wire::TypeLayout::basic(wire::BasicType::kByte); }
wire::ConstBuffer signal() { return {nullptr, 0, &nothing()}; }
wire::MutableBuffer room_for_signal() { return {nullptr, 0, &nothing()}; }

Task linear(const Team& team) {
  const auto masters = team.shape.masters;
  if (team.shape.my_client() != 0) {
    co_await team.leaders.post_send(masters[0], kBarrierTag, signal());
    co_await team.leaders.post_receive(masters[0], kBarrierTag, room_for_signal());
    co_return;
  }
  for (const std::int32_t master : masters.subspan(1)) team.leaders.post_receive(master, kBarrierTag, room_for_signal());
  co_await team.leaders.all_posted();
  for (const std::int32_t master : masters.subspan(1)) team.leaders.post_send(master, kBarrierTag, signal());
  co_await team.leaders.all_posted();
}

Task hypercube(const Team& team) {
  const auto masters = team.shape.masters;
  const std::int32_t me = team.shape.my_client();
  const std::int32_t parent = masters[static_cast<std::size_t>(hypercube_parent(me))];
  const auto children = hypercube_children(me, team.shape.client_count());
  for (auto child = children.rbegin(); child != children.rend(); ++child) {
    team.leaders.post_receive(masters[static_cast<std::size_t>(*child)], kBarrierTag, room_for_signal());
  }
  co_await team.leaders.all_posted();
  if (me != 0) {
    co_await team.leaders.post_send(parent, kBarrierTag, signal());
    co_await team.leaders.post_receive(parent, kBarrierTag, room_for_signal());
  }
  for (const std::int32_t child : children) {
    team.leaders.post_send(masters[static_cast<std::size_t>(child)], kBarrierTag, signal());
  }
  co_await team.leaders.all_posted();
}

Task among_masters(const Team& team) {
  const Form form = choose(Collective::kBarrier, team.shape.client_count(), 0, team.limits);
  return form == Form::kTree ? hypercube(team) : linear(team);
}

}  // namespace

Task barrier(const Team& team) {
  const Shape& shape = team.shape;
  co_await team.local.barrier();
  const bool is_master = shape.masters[static_cast<std::size_t>(shape.my_client())] == shape.rank;
  if (is_master) co_await among_masters(team);
  co_await team.local.barrier();
}

}  // namespace impishim::collectives
