// Bcast (IMPI 5.5): tag 120, data sent with the user's count and type.
#include "collectives/collectives.hpp"
#include "collectives/pattern.hpp"

namespace impishim::collectives {
namespace {

/// Starts the messages of the root to every other master, in order.
void post_to_all(const Team& team, const Data& data, std::int32_t root) {
  const ConstData source = data;
  for (std::int32_t client = 0; client < team.shape.client_count(); ++client) {
    if (client == team.shape.my_client()) continue;
    team.leaders.post_send(team.shape.speaker(client, root), kBcastTag, source.buffer());
  }
}

}  // namespace

Task bcast(const Team& team, Data data, std::int32_t root) {
  const Shape& shape = team.shape;
  const std::int32_t clients = shape.client_count();
  const std::int32_t root_client = shape.client_of(root);
  const std::int32_t me = to_virtual(shape.my_client(), root_client, clients);
  const std::int32_t speaker = shape.speaker(shape.my_client(), root);
  const bool tree = choose(Collective::kBcast, clients, ConstData(data).external_bytes(), team.limits) == Form::kTree;
  const auto speaker_of = [&](std::int32_t node) { return shape.speaker(from_virtual(node, root_client, clients), root); };
  if (shape.rank == speaker) {
    if (me != 0) co_await team.leaders.post_receive(speaker_of(tree ? hypercube_parent(me) : 0), kBcastTag, data.buffer());
    if (tree) {
      const ConstData source = data;
      for (const std::int32_t child : hypercube_children(me, clients)) {
        team.leaders.post_send(speaker_of(child), kBcastTag, source.buffer());
      }
    } else if (me == 0) {
      post_to_all(team, data, root);
    }
  }
  // The messages to other clients are on their way meanwhile.
  co_await team.local.broadcast(data, shape.local_rank(speaker));
  co_await team.leaders.all_posted();
}

}  // namespace impishim::collectives
