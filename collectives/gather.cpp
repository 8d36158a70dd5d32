// Gather (IMPI 5.6): tag 130. Masters send their client's blocks, in rank order, packed.
#include <cstring>
#include <optional>
#include <vector>

#include "collectives/collectives.hpp"
#include "collectives/pattern.hpp"

namespace impishim::collectives {
namespace {

/// Ranks of one client, ascending, found by walking through all ranks.
std::vector<std::int32_t> ranks_of(const Shape& shape, std::int32_t client) {
  std::vector<std::int32_t> ranks;
  for (std::int32_t rank = 0; rank < shape.size(); ++rank) {
    if (shape.client_of(rank) == client) ranks.push_back(rank);
  }
  return ranks;
}

/// Puts packed blocks of `ranks`, one after another, to their places in the root's buffer.
void place(std::span<const std::byte> blocks, std::span<const std::int32_t> ranks, const Data& all) {
  const std::size_t size = blocks.size() / ranks.size();
  for (std::size_t i = 0; i < ranks.size(); ++i) unpack(blocks.subspan(i * size, size), all.block(ranks[i]));
}

bool consecutive(std::span<const std::int32_t> ranks) {
  return ranks.back() - ranks.front() == static_cast<std::int32_t>(ranks.size()) - 1;
}

/// Blocks of one other client on their way to the root's buffer.
class Arrival {
 public:
  Arrival(const Team& team, std::int32_t client, std::size_t block_size, const PackedType& packed, const Data& all)
      : ranks_(ranks_of(team.shape, client)), all_(all) {
    const std::int32_t master = team.shape.masters[static_cast<std::size_t>(client)];
    if (consecutive(ranks_)) {
      Data blocks = all.block(ranks_.front());
      blocks.count *= ranks_.size();
      team.leaders.post_receive(master, kGatherTag, blocks.buffer());
    } else {
      room_.emplace(ranks_.size() * block_size);
      team.leaders.post_receive(master, kGatherTag, packed.room(room_->all(), ranks_.size()));
    }
  }
  /// After the message has come.
  void finish() const {
    if (room_) place(room_->all(), ranks_, all_);
  }

 private:
  std::vector<std::int32_t> ranks_;
  Data all_;
  std::optional<Bytes> room_;
};

/// The root takes the other clients' blocks in master order.
Task receive_from_all(const Team& team, const PackedType& packed, std::size_t block_size, Data all) {
  std::vector<Arrival> arrivals;
  for (std::int32_t client = 0; client < team.shape.client_count(); ++client) {
    if (client != team.shape.my_client()) arrivals.emplace_back(team, client, block_size, packed, all);
  }
  co_await team.leaders.all_posted();
  for (const Arrival& arrival : arrivals) arrival.finish();
}

/// Clients counted from the root's, and where their blocks are when all of them lie one after another.
struct TreeOrder {
  explicit TreeOrder(const Shape& shape, std::int32_t root) {
    const std::int32_t clients = shape.client_count();
    for (std::int32_t node = 0; node < clients; ++node) {
      const auto ranks = ranks_of(shape, from_virtual(node, shape.client_of(root), clients));
      first_block.push_back(rank_at.size());
      rank_at.insert(rank_at.end(), ranks.begin(), ranks.end());
    }
    first_block.push_back(rank_at.size());
  }
  [[nodiscard]] std::size_t blocks_before(std::int32_t node) const { return first_block[static_cast<std::size_t>(node)]; }
  [[nodiscard]] std::size_t blocks_between(std::int32_t begin, std::int32_t end) const {
    return blocks_before(end) - blocks_before(begin);
  }

  std::vector<std::size_t> first_block;
  std::vector<std::int32_t> rank_at;
};

/// Binomial tree: each master sends its own blocks and those of its subtree to its parent.
Task binomial(const Team& team, std::span<const std::byte> own, const PackedType& packed, std::size_t block_size, Data all,
              std::int32_t root) {
  const Shape& shape = team.shape;
  const std::int32_t clients = shape.client_count();
  const std::int32_t root_client = shape.client_of(root);
  const std::int32_t me = to_virtual(shape.my_client(), root_client, clients);
  const auto speaker_of = [&](std::int32_t node) { return shape.speaker(from_virtual(node, root_client, clients), root); };
  const TreeOrder order(shape, root);
  const Bytes subtree(order.blocks_between(me, binomial_end(me, clients)) * block_size);
  if (!own.empty()) std::memcpy(subtree.all().data(), own.data(), own.size());
  for (const std::int32_t child : binomial_children(me, clients)) {
    const std::size_t blocks = order.blocks_between(child, binomial_end(child, clients));
    const auto place_of_child = subtree.all().subspan(order.blocks_between(me, child) * block_size, blocks * block_size);
    co_await team.leaders.post_receive(speaker_of(child), kGatherTag, packed.room(place_of_child, blocks));
  }
  if (me == 0) {
    place(subtree.all(), order.rank_at, all);
  } else {
    const std::size_t blocks = order.blocks_between(me, binomial_end(me, clients));
    co_await team.leaders.post_send(speaker_of(binomial_parent(me)), kGatherTag, packed.buffer(subtree.all(), blocks));
  }
}

/// The local gather's target at the root, if it can be the user's buffer itself.
std::span<std::byte> user_memory(const Shape& shape, const Data& all) {
  const auto locals = static_cast<std::uint64_t>(shape.spanning_ranks.size());
  if (!consecutive(shape.spanning_ranks) || !all.type->layout->contiguous(all.count * locals) || all.count == 0) return {};
  const Data blocks = all.block(shape.spanning_ranks.front());
  return {blocks.base + all.type->layout->first_offset(), ConstData(blocks).native_bytes() * locals};
}

}  // namespace

Task gather(const Team& team, ConstData block, Data all, std::int32_t root) {
  const Shape& shape = team.shape;
  const std::int32_t speaker = shape.speaker(shape.my_client(), root);
  const std::size_t locals = shape.spanning_ranks.size();
  const PackedBlock own(block);
  const std::size_t block_size = own.bytes().size();
  const bool tree = choose(Collective::kGather, shape.client_count(), block.external_bytes(), team.limits) == Form::kTree;
  const auto in_place = shape.rank == root && !tree ? user_memory(shape, all) : std::span<std::byte>();
  const Bytes room(shape.rank == speaker && in_place.empty() ? locals * block_size : 0);
  const auto local = in_place.empty() ? room.all() : in_place;
  co_await team.local.gather(own.bytes(), local, shape.local_rank(speaker));
  if (shape.rank != speaker) co_return;
  const PackedType packed(block);
  if (tree) {
    co_await binomial(team, local, packed, block_size, all, root);
  } else if (shape.rank == root) {
    if (in_place.empty()) place(local, shape.spanning_ranks, all);
    co_await receive_from_all(team, packed, block_size, all);
  } else {
    co_await team.leaders.post_send(root, kGatherTag, packed.buffer(local, locals));
  }
}

}  // namespace impishim::collectives
